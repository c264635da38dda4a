/* ops.c - see ops.h: the names of the ops. */
#include "kernels/ops.h"

#include "runtime/base/check.h"

const char *op_kind_name(enum op_kind kind)
{
    static const char *const names[OP_KIND_COUNT] = {
        [OP_EMBED] = "embed",     [OP_ROPE_TABLE] = "rope_table",
        [OP_NORM] = "norm",       [OP_LINEAR] = "linear",
        [OP_ROPE_KV] = "rope_kv", [OP_ATTENTION] = "attention",
        [OP_MLP_ACT] = "mlp_act", [OP_ALL_REDUCE] = "all_reduce",
        [OP_LOGITS] = "logits",   [OP_ALL_GATHER] = "all_gather",
        [OP_SAMPLE] = "sample",
    };
    CHECK((unsigned)kind < OP_KIND_COUNT);
    return names[kind];
}
