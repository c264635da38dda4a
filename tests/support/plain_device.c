/* plain_device.c - see plain_device.h. */
#include "tests/support/plain_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

struct device {
    struct weight *weights;
};

static enum status plain_open(const struct device_options *options, struct device **out,
                              struct error *error)
{
    *out = calloc(1, sizeof **out);
    CHECK(*out);
    return STATUS_OK;
}

static void plain_close(struct device *device)
{
    while (device && device->weights) {
        struct weight *weight = device->weights;
        device->weights = weight->next;
        free(weight->rows);
        free(weight->written);
        free(weight);
    }
    free(device);
}

static enum status plain_supports(struct device *device, const struct op *op, struct error *error)
{
    return STATUS_OK;
}

static size_t row_bytes(const struct weight *weight)
{
    return dtype_row_bytes(weight->desc.dtype, weight->desc.cols);
}

static enum status plain_weight_create(struct device *device, const struct weight_desc *desc,
                                       struct weight **out, struct error *error)
{
    struct weight *weight = calloc(1, sizeof *weight);
    CHECK(weight);
    weight->desc = *desc;
    snprintf(weight->name, sizeof weight->name, "%s", desc->name);
    weight->desc.name = weight->name;
    weight->rows = malloc(row_bytes(weight) * (size_t)desc->rows);
    weight->written = calloc((size_t)desc->rows, 1);
    CHECK(weight->rows && weight->written);
    memset(weight->rows, 0x7f, row_bytes(weight) * (size_t)desc->rows);
    weight->next = device->weights, device->weights = weight;
    *out = weight;
    return STATUS_OK;
}

static void plain_weight_write(struct device *device, struct weight *weight, int64_t row,
                               int64_t count, const void *data)
{
    CHECK(row >= 0 && count > 0 && row + count <= weight->desc.rows);
    memcpy(weight->rows + (size_t)row * row_bytes(weight), data, (size_t)count * row_bytes(weight));
    for (int64_t i = 0; i < count; i++) weight->written[row + i]++;
}

static size_t plain_weight_bytes(const struct weight *weight)
{
    return row_bytes(weight) * (size_t)weight->desc.rows;
}

void plain_row(const struct weight *weight, int64_t row, float *out)
{
    CHECK(row < weight->desc.rows && weight->written[row] == 1);
    dtype_to_f32(weight->desc.dtype, weight->rows + (size_t)row * row_bytes(weight),
                 weight->desc.cols, out);
}

const struct weight *plain_weights(const struct device *device)
{
    return device->weights;
}

const struct device_ops device_plain = {
    .name = "plain",
    .open = plain_open,
    .close = plain_close,
    .supports = plain_supports,
    .weight_create = plain_weight_create,
    .weight_write = plain_weight_write,
    .weight_bytes = plain_weight_bytes,
};
