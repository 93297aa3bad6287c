"""recording.py - what CLATTN_RECORD left: programs, and the kernels launched from them."""
import collections, json, os, subprocess

Program = collections.namedtuple("Program", "name source options kernels")  # kernels: {name: launch}


def run(argv, **more):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return p.returncode, p.stdout


def read(folder):
    """Distinct programs of a recording, sorted by name; of launches of one kernel with several group sizes the widest."""
    programs = {}
    for line in open(os.path.join(folder, "launches.jsonl")):
        launch = json.loads(line)
        if launch["file"] in ("peaks", "selftest"):
            continue
        defines = ["%s=%d" % d for d in launch["defines"].items()]
        name = " ".join([launch["file"]] + defines)
        options = launch["options"].split() + ["-D" + d for d in defines]
        source = os.path.abspath(os.path.join(folder, launch["file"] + ".cl"))
        kernels = programs.setdefault(name, Program(name, source, options, {})).kernels
        old = kernels.get(launch["kernel"])
        if not old or items(launch) > items(old):
            kernels[launch["kernel"]] = launch
    return [programs[name] for name in sorted(programs)]


def items(launch):
    return launch["local"][0] * launch["local"][1] * launch["local"][2]


def case(program, kernel):
    """A kernel's name and the defines of its program."""
    return " ".join([kernel] + program.name.split(" ")[1:])
