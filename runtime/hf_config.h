/*
 * hf_config.h - config.json and generation_config.json of Hugging Face model directories.
 *
 * Both spellings of the rotary settings are read: `rope_parameters`, and `rope_theta` with
 * `rope_scaling`. Missing settings get transformers' defaults; a setting that would change the
 * result and is not handled is refused by name. Thread: any. Memory: nothing is kept.
 */
#ifndef RUNTIME_HF_CONFIG_H
#define RUNTIME_HF_CONFIG_H

#include <stddef.h>

#include "runtime/family.h"
#include "runtime/model.h"

/* `text` is config.json. Fills config (all but dtype) and what it says about generation (end and
 * begin tokens; the rest are OpenAI's defaults). */
enum status hf_config_parse(const char *text, size_t bytes, const struct family **family,
                            struct model_config *config, struct generation_config *generation,
                            struct error *error);

/* `text` is generation_config.json; what it says replaces what is in `generation`. Its do_sample is
 * not read: whether to sample is the request's temperature. */
enum status hf_generation_parse(const char *text, size_t bytes, int vocab,
                                struct generation_config *generation, struct error *error);

/* Shared with gguf_config.c: refuses sizes that contradict each other or are out of bounds. */
enum status model_config_check(const struct model_config *config, struct error *error);

extern const struct generation_config GENERATION_DEFAULTS;

#endif
