/* test_fuzz_safetensors.c - damaged safetensors files are refused with a reason or read within
 * their bounds. Arguments: seconds, seed. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/safetensors.h"
#include "tests/support/mutate.h"
#include "tests/support/safetensors_writer.h"

static volatile unsigned sum; /* so that reads are not optimised away */

static struct buffer valid_file(void)
{
    static const float values[64];
    struct safetensors_writer w = {0};
    safetensors_writer_entry(&w, "\"__metadata__\":{\"format\":\"pt\"}");
    safetensors_writer_tensor(&w, "matrix", "F32", 4, 8, values, 128);
    safetensors_writer_tensor(&w, "half", "BF16", 2, 8, values, 32);
    safetensors_writer_tensor(&w, "bytes", "U8", 0, 5, values, 5);
    return safetensors_writer_finish(&w);
}

static void read_all(const struct safetensors *all)
{
    for (int64_t i = 0; i < safetensors_count(all); i++) {
        const struct safetensor *tensor = safetensors_at(all, i);
        const unsigned char *bytes = tensor->data;
        if (tensor->bytes) sum += bytes[0] + bytes[tensor->bytes - 1];
        sum += (unsigned)strlen(tensor->name);
        CHECK(safetensors_find(all, tensor->name) == tensor);
    }
}

int main(int argc, char **argv)
{
    struct buffer valid = valid_file();
    uint64_t header;
    memcpy(&header, valid.data, sizeof header);
    struct mutate mutate = mutate_begin(argc, argv);
    while (mutate_more(&mutate)) {
        struct safetensors *all = NULL;
        struct error error = {0};
        size_t bytes;
        char *data;
        if (mutate.runs % 2) {
            data = mutate_copy(&mutate, &valid, header + 8, &bytes);
        } else { /* the JSON alone, with a length that is right */
            struct buffer json = {0}, file = {0};
            buffer_append(&json, valid.data + 8, header);
            char *text = mutate_json(&mutate, &json, &bytes);
            uint64_t len = bytes;
            buffer_append(&file, &len, sizeof len);
            buffer_append(&file, text, bytes);
            buffer_append(&file, valid.data + 8 + header, valid.len - 8 - header);
            free(text);
            buffer_free(&json);
            bytes = file.len;
            data = malloc(bytes);
            CHECK(data);
            memcpy(data, file.data, bytes);
            buffer_free(&file);
        }
        if (safetensors_open_memory(data, bytes, &all, &error) == STATUS_OK) {
            mutate.accepted++;
            read_all(all);
            safetensors_close(all);
        } else {
            CHECK(error.message[0]);
        }
        free(data);
    }
    mutate_end(&mutate);
    buffer_free(&valid);
    return 0;
}
