/* default_model.S - puts the default model's file into the program's read-only data. */
    .section .rodata.penstock_default_model, "a"
    .balign 64
    .global penstock_default_model
    .type penstock_default_model, %object
penstock_default_model:
    .incbin PENSTOCK_DEFAULT_MODEL
    .global penstock_default_model_end
penstock_default_model_end:
    .byte 0
    .size penstock_default_model, . - penstock_default_model
    .section .note.GNU-stack, "", %progbits
