/* embed.c - writes files as one C table: embed OUT.c HEADER TYPE TABLE FILE...
 *
 * HEADER declares TYPE, a struct of a name and a text, and the array TABLE of it. A
 * build tool: C11 has no #embed, and string literals end at 4095 characters. */
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
    enum { OUT = 1, HEADER, TYPE, TABLE, FILES };
    if (argc < FILES) {
        fprintf(stderr, "usage: embed OUT.c HEADER TYPE TABLE FILE...\n");
        return 2;
    }
    FILE *out = fopen(argv[OUT], "wb");
    if (!out) {
        perror(argv[OUT]);
        return 1;
    }
    fprintf(out, "#include <stddef.h>\n\n#include \"%s\"\n\n", argv[HEADER]);
    int failed = 0;
    for (int i = FILES; i < argc; i++) {
        failed |= write_bytes(out, argv[i], i);
    }
    fprintf(out, "const %s %s[] = {\n", argv[TYPE], argv[TABLE]);
    for (int i = FILES; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        fprintf(out, "    { \"%s\", file_%d },\n", slash ? slash + 1 : argv[i], i);
    }
    fprintf(out, "    { NULL, NULL },\n};\n");
    return fclose(out) || failed;
}
