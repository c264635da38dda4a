/* test_fuzz_gguf.c - damaged GGUF files are refused with a reason or give a model that loads;
 * nothing else. Arguments: seconds, seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/gguf.h"
#include "runtime/gguf_config.h"
#include "runtime/program.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/mutate.h"
#include "tests/support/plain_device.h"
#include "tests/support/tiny_model.h"

static volatile unsigned sum; /* so that reads are not optimised away */

/* Touches everything the reader hands out. */
static void read_all(const struct gguf *gguf)
{
    static const char *const keys[] = {"general.architecture", "llama.block_count", "words",
                                       "general.alignment",    "split.count",       "numbers"};
    for (int64_t i = 0; i < gguf_tensor_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        const unsigned char *bytes = tensor->data;
        if (bytes && tensor->bytes) sum += bytes[0] + bytes[tensor->bytes - 1];
        for (uint64_t j = 0; j < tensor->name.len; j++) sum += (unsigned char)tensor->name.data[j];
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t n;
        double x;
        bool flag;
        struct gguf_string text;
        struct gguf_array array;
        size_t offset = 0;
        sum += gguf_get_int(gguf, keys[i], &n) + gguf_get_float(gguf, keys[i], &x) +
               gguf_get_bool(gguf, keys[i], &flag);
        if (gguf_get_string(gguf, keys[i], &text) && text.len)
            sum += (unsigned char)text.data[text.len - 1];
        if (!gguf_get_array(gguf, keys[i], &array)) continue;
        if (array.bytes) sum += array.data[array.bytes - 1];
        while (array.type == GGUF_STRING && gguf_array_next_string(&array, &offset, &text))
            sum += text.len ? (unsigned char)text.data[text.len - 1] : 0;
    }
}

/* As a model: a damaged one that is still accepted also loads, on two ranks. */
static bool load_model(const char *path)
{
    struct model *model = NULL;
    struct device *device;
    struct program *program;
    struct error error = {0};
    if (model_open(path, &model, &error) != STATUS_OK) {
        CHECK(error.message[0]);
        return false;
    }
    for (int rank = 0; rank < 2; rank++) {
        struct program_options options = {rank, 2, -1, -1, 2048};
        device_plain.open(NULL, &device, NULL);
        if (program_create(model, &options, &device_plain, device, &program, &error) == STATUS_OK) {
            CHECK(program_load(program, model, &device_plain, device, 1, NULL, NULL, &error) ==
                  STATUS_OK);
            program_destroy(program);
        } else {
            CHECK(error.message[0]);
        }
        device_plain.close(device);
    }
    model_close(model);
    return true;
}

static struct buffer mixed_file(void)
{
    static const char *const words[] = {"one", "", "three"};
    static const float values[64];
    struct gguf_writer w = {0};
    uint8_t numbers[12 + 8] = {GGUF_U16, 0, 0, 0, 4};
    gguf_writer_string(&w, "general.architecture", "llama");
    gguf_writer_strings(&w, "words", words, 3);
    gguf_writer_raw(&w, "numbers", GGUF_ARRAY, numbers, sizeof numbers);
    gguf_writer_bool(&w, "flag", 1);
    gguf_writer_tensor(&w, "a", 0, 8, 2, values, 64);
    gguf_writer_tensor(&w, "b", 8, 32, 2, values, 68);
    gguf_writer_tensor(&w, "c", 2, 64, 0, values, 36);
    gguf_writer_tensor(&w, "d", 14, 256, 0, values, 210);
    w.alignment = 64;
    return gguf_writer_finish(&w);
}

int main(int argc, char **argv)
{
    struct tiny_model tiny = {.family = "llama",
                              .hidden = 32,
                              .layers = 1,
                              .heads = 2,
                              .kv_heads = 1,
                              .head_dim = 16,
                              .ffn = 32,
                              .vocab = 8,
                              .dtype = DTYPE_Q8_0};
    struct buffer files[2] = {mixed_file(), tiny_gguf(&tiny)};
    char path[] = "/tmp/penstock-fuzz-XXXXXX";
    long long loaded = 0;
    int file = mkstemp(path);
    CHECK(file >= 0 && close(file) == 0);
    log_configure(LOG_ERROR, false);
    struct mutate mutate = mutate_begin(argc, argv);
    while (mutate_more(&mutate)) {
        const struct buffer *valid = &files[mutate.runs % 2];
        size_t bytes, head = valid == files ? valid->len : 1400;
        char *data = mutate_copy(&mutate, valid, head, &bytes);
        struct gguf *gguf = NULL;
        struct error error = {0};
        if (mutate.runs % 8 == 1) {
            tiny_write_file(path, data, bytes);
            loaded += load_model(path);
        }
        if (gguf_open_memory(data, bytes, &gguf, &error) == STATUS_OK) {
            const struct family *family;
            struct model_config config;
            struct generation_config generation;
            mutate.accepted++;
            read_all(gguf);
            if (gguf_config_parse(gguf, &family, &config, &generation, &error) != STATUS_OK)
                CHECK(error.message[0]);
            gguf_close(gguf);
        } else {
            CHECK(error.message[0]);
        }
        free(data);
    }
    mutate_end(&mutate);
    printf("%lld loaded\n", loaded);
    unlink(path);
    buffer_free(&files[0]);
    buffer_free(&files[1]);
    return 0;
}
