/* openapi.h - the document of /openapi.json, embedded by the build from openapi.json. Thread: any.
 */
#ifndef SERVER_OPENAPI_H
#define SERVER_OPENAPI_H

#include <stddef.h>

extern const char openapi_json[];
extern const size_t openapi_json_len;

#endif
