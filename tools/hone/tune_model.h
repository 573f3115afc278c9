/* What `hone tune MODEL` does. */
#ifndef HONE_TOOLS_TUNE_MODEL_H
#define HONE_TOOLS_TUNE_MODEL_H

#include "command.h"

/* Tunes the models that the arguments name, sharing the budget among them; the
 * exit code. */
int hone_cli_tune_models(hone_cli_t* cli);

#endif
