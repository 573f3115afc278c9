/* The inside of expanding loops, for expand*.c only. */
#ifndef HONE_CODEGEN_EXPAND_IMPL_H
#define HONE_CODEGEN_EXPAND_IMPL_H

#include "loop/kernel.h"

/* Lets walks (loop/walk.h) leave early, which a loop was expanded to: statement s of round r stands
 * at `first` + s * rounds + r of parent's body. Does nothing for what is no walk. False: out of
 * memory. */
bool hone_expand_exits(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_stmt_t* parent,
                       int first);

#endif
