/*
 * plain_device.h - a device that keeps weights as they are written and runs nothing, to look at
 * what a program loads. Thread: as device.h says.
 */
#ifndef TESTS_SUPPORT_PLAIN_DEVICE_H
#define TESTS_SUPPORT_PLAIN_DEVICE_H

#include "kernels/device.h"

struct weight {
    struct weight *next;
    char name[96];
    struct weight_desc desc; /* name points to the array above */
    char *rows;              /* dense */
    unsigned char *written;  /* [rows] times */
};

extern const struct device_ops device_plain;

/* One row as float32. */
void plain_row(const struct weight *weight, int64_t row, float *out);
const struct weight *plain_weights(const struct device *device); /* the latest first */

#endif
