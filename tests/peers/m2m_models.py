"""m2m_models.py - small random models of M2M-100 and NLLB, made with transformers"""
import sentencepiece
import torch
from transformers import (GenerationConfig, M2M100Config, M2M100ForConditionalGeneration,
                          MBartConfig, MBartForConditionalGeneration)

from marian_models import page, spoken, train_pairs, write_json

CLASSES = ((M2M100ForConditionalGeneration, M2M100Config),
           (MBartForConditionalGeneration, MBartConfig))
STEPS = 150  # of training, so that translations differ and end
OWN = ["<s>", "<pad>", "</s>", "<unk>"]  # fairseq's tokens, by number
M2M100 = ("af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd "
          "gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk "
          "ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta "
          "th tl tn tr uk ur uz vi wo xh yi yo zh zu").split()
MBART = ("ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR "
         "lt_LT lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN "
         "fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE "
         "sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI").split()
NLLB = ["ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans"]

PAIRS = {"m2m100": [("en", "de"), ("fr", "zu")],
         "nllb": [("eng_Latn", "deu_Latn"), ("zho_Hans", "ace_Arab")],
         "mbart": [("en_XX", "de_DE"), ("sl_SI", "ar_AR")]}


def draw_form(draw, family):
    heads = draw.choice([2, 4])
    return {
        "family": family,
        "heads": heads,
        "width": heads * draw.choice([6, 8, 10]),
        "inner": draw.choice([12, 24, 40]),
        "layers": (draw.randint(1, 3), draw.randint(1, 3)),
        "activation": draw.choice(["relu", "gelu"]),
        "scaled": draw.random() < 0.7,
        "tied": draw.random() < 0.7,
        "dtype": draw.choice(["float32", "float32", "bfloat16", "float16"]),
        "sharded": draw.random() < 0.3,
        "padding": draw.choice([0, 8]),
        "early": draw.choice([False, True]),
        "penalty": draw.choice([1.0, 0.6]),
        "max_length": draw.choice([20, 40]),
        "positions": 256,
    }


def make_pieces(draw, form, folder, lines):
    """Writes the tokenizer's files; returns the numbers of all tokens."""
    path = folder / "sentencepiece.bpe.model"
    names = spoken(draw, lines, path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    listed = [model.id_to_piece(i) for i in range(3, len(model))]
    ids = {token: i for i, token in enumerate([*OWN, *listed])}
    assert len(names) == len(listed)
    if form["family"] == "m2m100":
        write_json(folder / "vocab.json", ids)
        write_json(folder / "tokenizer_config.json", {"src_lang": "en", "tgt_lang": "de"})
        return ids | {f"__{x}__": len(ids) + i for i, x in enumerate(M2M100)}
    added = [*(MBART if form["family"] == "mbart" else NLLB), "<mask>"]
    ids |= {token: len(ids) + i for i, token in enumerate(added)}
    if form["family"] == "mbart":
        write_json(folder / "tokenizer_config.json", {
            "src_lang": "en_XX", "tgt_lang": "de_DE", "tokenizer_class": "MBart50Tokenizer"})
        return ids
    write_json(folder / "tokenizer_config.json", {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"})
    write_json(folder / "tokenizer.json", {"added_tokens": [
        {"id": ids[token], "content": token, "special": True, "lstrip": token == "<mask>"}
        for token in [*OWN, *added]]})
    return ids


def token_of(form, language):
    return f"__{language}__" if form["family"] == "m2m100" else language


def make_network(form, folder, rows, seed):
    torch.manual_seed(seed)
    kind, config = CLASSES[form["family"] == "mbart"]
    network = kind(config(
        vocab_size=rows, d_model=form["width"], encoder_layers=form["layers"][0],
        decoder_layers=form["layers"][1], encoder_attention_heads=form["heads"],
        decoder_attention_heads=form["heads"], encoder_ffn_dim=form["inner"],
        decoder_ffn_dim=form["inner"], activation_function=form["activation"],
        scale_embedding=form["scaled"], tie_word_embeddings=form["tied"], init_std=0.1,
        max_position_embeddings=form["positions"], encoder_layerdrop=0, decoder_layerdrop=0,
        dropout=0,
        attention_dropout=0))
    network.generation_config = GenerationConfig(
        num_beams=4, length_penalty=form["penalty"], early_stopping=form["early"], pad_token_id=1,
        bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, max_length=form["max_length"])
    with torch.no_grad():
        for p in network.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    return network


class Tokens:
    """Lines as numbers, by the SentencePiece model and the table."""

    def __init__(self, folder, ids):
        self.model = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "sentencepiece.bpe.model"))
        self.ids = ids
        self.names = {i: token for token, i in ids.items()}

    def encode(self, line, language):
        pieces = self.model.encode(line, out_type=str)
        return [self.ids[language], *(self.ids.get(x, 3) for x in pieces), 2]

    def numbers(self, row):
        """Those of a row of peer.scored_pieces."""
        return [*(self.ids.get(x, 3) for x, _ in row[:-1]), 2]

    def decode(self, ids):
        pieces = [self.names.get(i, "") for i in ids]
        kept = [x for x in pieces if x and x not in OWN and x != "<mask>" and
                not x.startswith("__") and x not in NLLB and x not in MBART]
        return self.model.decode(kept).strip()


def generate(network, tokens, ids, target, beam):
    """The text that transformers makes of the numbers of a source, and its score where the
    search gives one."""
    with torch.no_grad():
        out = network.generate(
            input_ids=torch.tensor([ids]), num_beams=beam,
            forced_bos_token_id=tokens.ids[target], return_dict_in_generate=True,
            output_scores=True)
    score = out.sequences_scores[0].item() if beam > 1 else None
    return tokens.decode(out.sequences[0].tolist()), score


def train(network, tokens, lines, source, target):
    """Each line learns to become the next one."""
    train_pairs(network, STEPS, [(tokens.encode(a, source)[:40], tokens.encode(b, target)[:16])
                                 for a, b in zip(lines, [*lines[1:], lines[0]])])


def make(draw, folder, family, **fixed):
    """Writes a model to a folder; returns its form, its tokens and the network. fixed: keys
    of the form."""
    form = {**draw_form(draw, family), **fixed}
    folder.mkdir(parents=True)
    lines = page(draw)
    ids = make_pieces(draw, form, folder, lines)
    network = make_network(form, folder, len(ids) + form["padding"], draw.randrange(2**31))
    tokens = Tokens(folder, ids)
    pair = PAIRS[family][0]
    train(network, tokens, draw.sample(lines, 16), *(token_of(form, x) for x in pair))
    network = network.to(getattr(torch, form["dtype"])).eval()
    network.save_pretrained(folder, max_shard_size="20KB" if form["sharded"] else "1GB")
    # The network at hand has rounded sines of positions, which no file holds.
    loaded = type(network).from_pretrained(folder, dtype=torch.float32)
    return form, tokens, loaded.eval()
