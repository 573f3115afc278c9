/* What the documents that commands print for machines (--json) share. */
#ifndef HONE_TOOLS_JSON_H
#define HONE_TOOLS_JSON_H

#include <jansson.h>

#include "hone/status.h"

/* A string of any bytes: what is no UTF-8 becomes '?'. NULL when out of memory. */
json_t* hone_json_text(const char* data, size_t size);
/* The same of a string that ends in 0; JSON's null for NULL. */
json_t* hone_json_string(const char* text);
/* Prints the document to standard output and frees it; NULL is a document that
 * could not be made. */
HONE_MUST_USE hone_status_t hone_json_print(json_t* root);

#endif
