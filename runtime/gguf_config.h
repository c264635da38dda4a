/*
 * gguf_config.h - the configuration that a GGUF file's metadata hold.
 *
 * Thread: any. Memory: nothing is kept but pointers into the mapping (rope factors).
 */
#ifndef RUNTIME_GGUF_CONFIG_H
#define RUNTIME_GGUF_CONFIG_H

#include "runtime/family.h"
#include "runtime/gguf.h"
#include "runtime/model.h"

/* Fills config (all but dtype) and generation; refuses, by key, what is missing, contradictory or
 * not supported. */
enum status gguf_config_parse(const struct gguf *gguf, const struct family **family,
                              struct model_config *config, struct generation_config *generation,
                              struct error *error);

#endif
