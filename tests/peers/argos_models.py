"""argos_models.py - small random packages as Argos packs them: a model of OpenNMT-py"""
import json

import numpy
from ctranslate2.specs import common_spec, transformer_spec

import marian_models

POSITIONS, ENDS = 256, 3  # ENDS: what the output bias gives to the end


def sines(count, width):
    """OpenNMT-py's encodings, in which sines and cosines take turns."""
    rows = numpy.arange(count)[:, None] / 10000 ** (numpy.arange(0, width, 2) / width)
    table = numpy.zeros((count, width))
    table[:, 0::2], table[:, 1::2] = numpy.sin(rows), numpy.cos(rows[:, :width // 2])
    return table.astype(numpy.float32)


def fillers_of(draw, width):
    """What gives weights random numbers: a matrix, a norm and a linear layer."""
    numbers = numpy.random.default_rng(draw.randrange(2**31))

    def matrix(*shape):
        return (numbers.standard_normal(shape) * 0.5).astype(numpy.float32)

    def norm(layer):
        layer.gamma, layer.beta = 1 + matrix(width), matrix(width)

    def linear(layer, out, size, bias=True):
        layer.weight = matrix(out, size)
        if bias:
            layer.bias = matrix(out)
    return matrix, norm, linear


def fill_stack(spec, form, fillers):
    _, norm, linear = fillers
    width, inner = form["width"], form["inner"]
    norm(spec.layer_norm)
    for layer in spec.layer:
        norm(layer.self_attention.layer_norm)
        linear(layer.self_attention.linear[0], 3 * width, width, form["biases"])
        linear(layer.self_attention.linear[1], width, width, form["biases"])
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, inner, width)
        linear(layer.ffn.linear_1, width, inner)
        if hasattr(layer, "attention"):
            norm(layer.attention.layer_norm)
            linear(layer.attention.linear[0], width, width, form["biases"])
            linear(layer.attention.linear[1], 2 * width, width, form["biases"])
            linear(layer.attention.linear[2], width, width, form["biases"])


def draw_form(draw):
    heads = draw.choice([2, 4])
    return {"heads": heads, "width": heads * draw.choice([6, 8, 10]),
            "inner": draw.choice([12, 24, 40]), "layers": (draw.randint(1, 3), draw.randint(1, 3)),
            "biases": draw.random() < 0.5, "tied": draw.random() < 0.5}


def make_spec(draw, form, tokens):
    spec = transformer_spec.TransformerSpec.from_config(
        form["layers"], form["heads"], activation=common_spec.Activation.RELU)
    fillers = fillers_of(draw, form["width"])
    fill_stack(spec.encoder, form, fillers)
    fill_stack(spec.decoder, form, fillers)
    matrix = fillers[0]
    rows = matrix(len(tokens), form["width"])
    spec.encoder.embeddings[0].weight = rows
    spec.decoder.embeddings.weight = rows
    spec.decoder.projection.weight = rows if form["tied"] else matrix(*rows.shape)
    bias = matrix(len(tokens))
    bias[tokens.index("</s>")] += ENDS
    spec.decoder.projection.bias = bias
    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = sines(POSITIONS, form["width"])
    spec.config.decoder_start_token = "<s>"
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    return spec


def make(draw, folder, weights, count=8, **fixed):
    """Writes a package, unpacked; returns `count` lines and the paths of its pieces. fixed: keys
    of the form."""
    (folder / "model").mkdir(parents=True)
    lines = marian_models.page(draw)
    model = folder / "sentencepiece.model"
    pieces = sorted(marian_models.spoken(draw, lines, model))
    draw.shuffle(pieces)
    form = {**draw_form(draw), **fixed}
    spec = make_spec(draw, form, ["<unk>", "<blank>", "<s>", "</s>", *pieces])
    spec.validate()
    spec.optimize(quantization=weights)
    spec.save(str(folder / "model"))
    (folder / "metadata.json").write_text(json.dumps({
        "package_version": "1.9", "argos_version": "1.9", "from_code": "en", "from_name": "English",
        "to_code": "de", "to_name": "German"}))
    return [draw.choice(lines)[:60] for _ in range(count)], [model, model]
