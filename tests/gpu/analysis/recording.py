"""recording.py - what CLATTN_RECORD left: programs, and the kernels launched from them."""
import collections, glob, json, os, subprocess

Program = collections.namedtuple("Program", "name source options kernels")  # kernels: {name: launch}


def run(argv, **more):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return p.returncode, p.stdout


def launches(folder, kind):
    """(folder, launch) for each launch recorded for that vendor, in the folders VENDOR-*; all vendors share a recording that
    has no such folders."""
    folders = sorted(glob.glob(os.path.join(folder, kind + "-*"))) or [folder]
    for each in folders:
        for line in open(os.path.join(each, "launches.jsonl")):
            yield each, json.loads(line)


def read(folder, kind):
    """Distinct programs of a recording for a vendor, sorted by name; of launches of one kernel with several group sizes the
    widest."""
    programs = {}
    for each, launch in launches(folder, kind):
        if launch["file"] in ("peaks", "selftest"):
            continue
        defines = ["%s=%d" % d for d in launch["defines"].items()]
        name = " ".join([launch["file"]] + defines)
        options = launch["options"].split() + ["-D" + d for d in defines]
        source = os.path.abspath(os.path.join(each, launch["file"] + ".cl"))
        kernels = programs.setdefault(name, Program(name, source, options, {})).kernels
        old = kernels.get(launch["kernel"])
        if not old or items(launch) > items(old):
            kernels[launch["kernel"]] = launch
    return [programs[name] for name in sorted(programs)]


def items(launch):
    return launch["local"][0] * launch["local"][1] * launch["local"][2]


def name_of(kernel, file, defines):
    """What tells a kernel from all others: its name, its defines as `NAME=N`, and the hash of the text that was generated
    for it if one was, which stands in its file's name."""
    _, dash, text = file.partition("-")
    return " ".join([kernel] + defines + ["TEXT=" + text] * bool(dash))


def case(program, kernel):
    """The name of a program's kernel."""
    file, *defines = program.name.split(" ")
    return name_of(kernel, file, defines)
