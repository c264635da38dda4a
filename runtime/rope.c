/* rope.c - see rope.h. */
#include "runtime/rope.h"

#include <math.h>

/* theta^(2i / d) as a float32 tensor library has it: the exponent is rounded to float32 first. */
static float position_frequency(double theta, int i, int dim)
{
    return (float)pow((float)theta, (float)(2 * i) / (float)dim);
}

static float llama3_frequency(const struct rope_config *rope, float frequency)
{
    const float pi2 = (float)(2 * M_PI);
    float factor = (float)rope->factor;
    double old = rope->original_max_position;
    float wavelength = pi2 / frequency;
    if (wavelength < (float)(old / rope->high_freq_factor)) return frequency;
    if (wavelength > (float)(old / rope->low_freq_factor)) return frequency / factor;
    float smooth = ((float)old / wavelength - (float)rope->low_freq_factor) /
                   (float)(rope->high_freq_factor - rope->low_freq_factor);
    return (1 - smooth) * frequency / factor + smooth * frequency;
}

/* The (fractional) index of the frequency that turns `rotations` times in the trained length. */
static double yarn_correction(const struct rope_config *rope, double rotations)
{
    double length = rope->original_max_position;
    return rope->rotary_dim * log(length / (rotations * 2 * M_PI)) / (2 * log(rope->theta));
}

static void yarn_frequencies(const struct rope_config *rope, float *inv_freq)
{
    double low = yarn_correction(rope, rope->beta_fast);
    double high = yarn_correction(rope, rope->beta_slow);
    if (rope->truncate) low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, rope->rotary_dim - 1);
    if (low == high) high += 0.001; /* no division by zero */
    for (int i = 0; i < rope->rotary_dim / 2; i++) {
        float position = position_frequency(rope->theta, i, rope->rotary_dim);
        float ramp = ((float)i - (float)low) / (float)(high - low);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        float keep = 1 - ramp;
        inv_freq[i] = 1.0F / ((float)rope->factor * position) * (1 - keep) + 1.0F / position * keep;
    }
}

static double yarn_mscale(double scale, double mscale)
{
    return scale <= 1 ? 1 : 0.1 * mscale * log(scale) + 1;
}

static double yarn_attention_factor(const struct rope_config *rope)
{
    if (rope->attention_factor != 0) return rope->attention_factor;
    if (rope->mscale != 0 && rope->mscale_all_dim != 0)
        return yarn_mscale(rope->factor, rope->mscale) /
               yarn_mscale(rope->factor, rope->mscale_all_dim);
    return yarn_mscale(rope->factor, 1);
}

static double dynamic_theta(const struct rope_config *rope, int max_position, int served_len)
{
    double len = served_len > max_position ? served_len : max_position, dim = rope->rotary_dim;
    return rope->theta *
           pow(rope->factor * len / max_position - (rope->factor - 1), dim / (dim - 2));
}

void rope_frequencies(const struct rope_config *rope, int max_position, int served_len,
                      float *inv_freq, float *attention_factor)
{
    double theta =
        rope->scaling == ROPE_DYNAMIC ? dynamic_theta(rope, max_position, served_len) : rope->theta;
    *attention_factor = 1;
    if (rope->scaling == ROPE_YARN) {
        yarn_frequencies(rope, inv_freq);
        *attention_factor = (float)yarn_attention_factor(rope);
    }
    for (int i = 0; i < rope->rotary_dim / 2; i++) {
        if (rope->scaling != ROPE_YARN)
            inv_freq[i] = 1.0F / position_frequency(theta, i, rope->rotary_dim);
        if (rope->scaling == ROPE_LINEAR) inv_freq[i] /= (float)rope->factor;
        if (rope->scaling == ROPE_LLAMA3) inv_freq[i] = llama3_frequency(rope, inv_freq[i]);
        if (rope->factors) inv_freq[i] /= rope->factors[i];
    }
}
