/*
 * rope.h - the frequencies of rotary position embedding for every scaling we know.
 *
 * Computed as transformers' modeling_rope_utils does, in float32 where it uses float32, so that a
 * position far out gets the same angle. Thread: any; pure.
 */
#ifndef RUNTIME_ROPE_H
#define RUNTIME_ROPE_H

#include "runtime/model.h"

/* inv_freq[rotary_dim / 2] and the factor on cos and sin. `max_position` is the model's; dynamic
 * scaling is fixed for sequences of `served_len` tokens and leaves the base alone where they are no
 * longer than max_position. */
void rope_frequencies(const struct rope_config *rope, int max_position, int served_len,
                      float *inv_freq, float *attention_factor);

#endif
