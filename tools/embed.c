/* embed.c - writes files as one C table: embed OUT.c FILE...
 *
 * A build tool: C11 has no #embed, and string literals end at 4095 characters. */
#include <stdio.h>
#include <string.h>

static int write_bytes(FILE *out, const char *path, int number)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return 1;
    }
    fprintf(out, "static const unsigned char file_%d[] = {", number);
    int c, column = 0;
    while ((c = fgetc(in)) != EOF) {
        fprintf(out, "%s%d,", column++ % 20 ? "" : "\n", c);
    }
    fprintf(out, "0\n};\n\n");
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: embed OUT.c FILE...\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "wb");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    fprintf(out, "#include <stddef.h>\n\n#include \"runtime/kernels.h\"\n\n");
    int failed = 0;
    for (int i = 2; i < argc; i++) {
        failed |= write_bytes(out, argv[i], i);
    }
    fprintf(out, "const cla_kernel_file cla_kernel_files[] = {\n");
    for (int i = 2; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        fprintf(out, "    { \"%s\", file_%d },\n", slash ? slash + 1 : argv[i], i);
    }
    fprintf(out, "    { NULL, NULL },\n};\n");
    return fclose(out) || failed;
}
