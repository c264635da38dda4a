/* default_model.c - the embedded default model: a GGUF file that default_model.S includes, where
 * the tree has one. Thread: any; constant data. */
#include "runtime/model.h"

#ifdef PENSTOCK_DEFAULT_MODEL
extern const unsigned char penstock_default_model[], penstock_default_model_end[];

const void *model_default_data(size_t *bytes)
{
    *bytes = (size_t)(penstock_default_model_end - penstock_default_model);
    return penstock_default_model;
}
#else
const void *model_default_data(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}
#endif
