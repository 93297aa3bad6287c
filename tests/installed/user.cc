// user.cc - a program in C++: one step of attention, and an error.
#include <clattn/clattn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

void check(cla_status status)
{
    if (status != CLA_OK) {
        std::fprintf(stderr, "user: %s\n", cla_error());
        std::exit(1);
    }
}

template <typename T, void (*release)(T **)>
struct freed {
    void operator()(T *object) const { release(&object); }
};
using runtime = std::unique_ptr<cla_runtime, freed<cla_runtime, cla_runtime_free>>;
using tensor = std::unique_ptr<cla_tensor, freed<cla_tensor, cla_tensor_free>>;
using ragged = std::unique_ptr<cla_ragged, freed<cla_ragged, cla_ragged_free>>;
using tape = std::unique_ptr<cla_tape, freed<cla_tape, cla_tape_free>>;

} // namespace

int main()
{
    cla_runtime *made = nullptr;
    check(cla_runtime_new(&made, nullptr));
    const runtime rt(made);

    cla_ragged *rows = nullptr;
    const int32_t offsets[] = { 0, 2, 5 };
    check(cla_ragged_new(&rows, rt.get(), 2, offsets));
    const ragged batch(rows);

    cla_tensor *x = nullptr, *o = nullptr;
    const int64_t shape[] = { 5, 1, 8 };
    check(cla_tensor_new(&x, rt.get(), CLA_F32, 3, shape));
    const tensor input(x);
    const std::vector<float> ones(5 * 8, 1.0F);
    check(cla_tensor_write(x, 0, static_cast<int64_t>(ones.size()), ones.data()));

    cla_tape *step = nullptr;
    check(cla_tape_new(&step, rt.get(), false));
    const tape owned(step);
    cla_attention_options options = {};
    options.causal = true;
    check(cla_attention(step, &o, x, x, x, rows, rows, &options));
    std::vector<float> got(ones.size());
    check(cla_tensor_read(o, 0, static_cast<int64_t>(got.size()), got.data()));
    for (const float y : got) {
        if (std::fabs(y - 1) > 1e-6F) {
            std::fprintf(stderr, "user: %g, must be 1\n", static_cast<double>(y));
            return 1;
        }
    }
    if (cla_tensor_read(nullptr, 0, 1, got.data()) != CLA_E_USAGE ||
        !std::strstr(cla_error(), "t is NULL")) {
        std::fprintf(stderr, "user: NULL gives '%s'\n", cla_error());
        return 1;
    }
    return 0;
}
