/* All of hone's public interface.
 *
 * Ownership is in the verb: what create (load, make) gives, the caller destroys
 * (frees); retain and release count; other functions lend. Results come last
 * and are named out_…; on failure they are NULL or zero. */
#ifndef HONE_H
#define HONE_H

#include "hone/allocator.h"
#include "hone/backend.h"
#include "hone/dim_option.h"
#include "hone/dtype.h"
#include "hone/engine.h"
#include "hone/function.h"
#include "hone/mixed.h"
#include "hone/model.h"
#include "hone/report.h"
#include "hone/schedule.h"
#include "hone/session.h"
#include "hone/space.h"
#include "hone/status.h"
#include "hone/te.h"
#include "hone/template.h"
#include "hone/tensor.h"
#include "hone/tune.h"
#include "hone/version.h"

#endif
