/* sentencepiece.cc - the shim: no exception and no type of C++ gets past it. */
#include "text/sentencepiece.h"

#include <exception>
#include <sentencepiece_processor.h>
#include <string>
#include <vector>

struct cla_sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
};

namespace
{

cla_status add(const std::vector<std::string> &pieces, cla_text *out)
{
    for (const auto &piece : pieces) {
        // with the NUL behind it
        if (cla_status status = cla_text_append(out, piece.c_str(), piece.size() + 1)) {
            return status;
        }
    }
    return CLA_OK;
}

/* Runs work, which gives a status, and makes one of what it throws. */
template <typename Work> cla_status guarded(Work work)
{
    try {
        return work();
    } catch (const std::exception &thrown) {
        return cla_fail(CLA_E_NOMEM, "sentencepiece: %s", thrown.what());
    }
}

cla_status failed(const sentencepiece::util::Status &status)
{
    return cla_fail(CLA_E_INPUT, "sentencepiece: %s", status.ToString().c_str());
}

} // namespace

cla_status cla_sentencepiece_new(cla_sentencepiece **out, const char *path,
                                 const char *bytes, size_t size)
{
    *out = nullptr;
    return guarded([&] {
        auto made = std::make_unique<cla_sentencepiece>();
        const auto status = made->processor.LoadFromSerializedProto({ bytes, size });
        if (!status.ok() || made->processor.GetPieceSize() < 1) {
            return cla_fail(CLA_E_INPUT, "%s: no SentencePiece model", path);
        }
        *out = made.release();
        return CLA_OK;
    });
}

void cla_sentencepiece_free(cla_sentencepiece **pieces)
{
    delete *pieces;
    *pieces = nullptr;
}

cla_status cla_sentencepiece_apply(const cla_sentencepiece *pieces, const char *line,
                                   size_t size, cla_text *out)
{
    return guarded([&] {
        std::vector<std::string> found;
        const auto status = pieces->processor.Encode({ line, size }, &found);
        return status.ok() ? add(found, out) : failed(status);
    });
}

cla_status cla_sentencepiece_undo(const cla_sentencepiece *pieces, const char *tokens,
                                  size_t size, cla_text *out)
{
    return guarded([&] {
        std::vector<std::string> parts;
        std::string line, all(tokens, size);
        for (size_t at = 0, end; at < all.size(); at = end + 1) {
            end = all.find('\0', at);
            parts.push_back(all.substr(at, end - at));
        }
        const auto status = pieces->processor.Decode(parts, &line);
        return status.ok() ? cla_text_append(out, line.data(), line.size())
                           : failed(status);
    });
}

cla_status cla_sentencepiece_all(const cla_sentencepiece *pieces, cla_text *out)
{
    return guarded([&] {
        std::vector<std::string> all;
        const auto &p = pieces->processor;
        for (int i = 0; i < p.GetPieceSize(); i++) {
            if (!p.IsControl(i) && !p.IsUnknown(i) && !p.IsUnused(i)) {
                all.push_back(p.IdToPiece(i));
            }
        }
        return add(all, out);
    });
}

cla_status cla_sentencepiece_list(const cla_sentencepiece *pieces, cla_text *out)
{
    return guarded([&] {
        std::vector<std::string> all;
        const auto &p = pieces->processor;
        for (int i = 0; i < p.GetPieceSize(); i++) {
            all.push_back(p.IdToPiece(i));
        }
        return add(all, out);
    });
}

cla_status cla_sentencepiece_kinds(const cla_sentencepiece *pieces, float *score,
                                   char *kind, int *start)
{
    return guarded([&] {
        const auto &p = pieces->processor;
        for (int i = 0; i < p.GetPieceSize(); i++) {
            score[i] = p.GetScore(i);
            kind[i] = p.IsControl(i)   ? 'c'
                      : p.IsUnknown(i) ? 'u'
                      : p.IsByte(i)    ? 'b'
                      : p.IsUnused(i)  ? 'x'
                                       : 'n';
        }
        *start = p.bos_id();
        return CLA_OK;
    });
}
