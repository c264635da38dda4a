# cmake -DINPUT=file -DOUTPUT=file.c -P embed.cmake: the document as the C source behind openapi.h.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"server/openapi.h\"\n"
     "const char openapi_json[] = {${bytes}0};\n"
     "const size_t openapi_json_len = sizeof(openapi_json) - 1;\n")
