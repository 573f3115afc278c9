#include "hone/version.h"

#ifndef HONE_VERSION
#define HONE_VERSION "0"
#endif

const char* hone_version(void) { return HONE_VERSION; }
