/* Version of the library that runs, which may be newer than the headers. */
#ifndef HONE_VERSION_H
#define HONE_VERSION_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0"; static storage. */
HONE_API const char* hone_version(void);

#ifdef __cplusplus
}
#endif
#endif
