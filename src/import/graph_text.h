/* Graphs of primitives in text, which reads back as the same graph.
 *
 *   hone-graph 1
 *   symbol "batch" input 0 2147483647
 *   graph "main" {
 *     %0 "x" <0 dim 0> = input : f32[batch, 3]
 *     %1 = constant {2} : f32[]
 *     %2 = expand %1 shape=[batch, 3] : f32[batch, 3] @ "scale (Mul)"
 *     %3 "y" = mul %0 %2 : f32[batch, 3] @ "scale (Mul)"
 *     return %3 "y"
 *   }
 *
 * A line is: results, "=", primitive, operands ("_": left out), attributes,
 * ":", a type a result, "@" the model's node it came from. After a result may
 * stand the name of its tensor, and in <> the symbols that it binds (by
 * number, to an extent or an element). Regions follow their node in braces.
 * Comments run from "#" to the end of the line.
 *
 * Constants are numbers in braces while they are few, else bytes: x"00ff".
 * Host nodes carry the model's node as the bytes of an ONNX model with just
 * that node, its functions and opsets. */
#ifndef HONE_IMPORT_GRAPH_TEXT_H
#define HONE_IMPORT_GRAPH_TEXT_H

#include "base/str.h"
#include "ir/graph.h"

enum {
  /* Leaves large contents out ("..."), for people; does not read back. */
  HONE_TEXT_SHORT = 1 << 0,
};

/* Appends the text; a graph must be a root. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_graph_print(const hone_graph_t* graph, int flags, hone_str_t* out);
/* Reads a graph back. `text` need not end in 0. The result has passed
 * hone_graph_verify. Errors: INVALID_MODEL with line and column,
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_graph_parse(const hone_allocator_t* allocator, const char* text,
                                             size_t size, hone_graph_t** out_graph);

#endif
