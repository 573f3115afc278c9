/* Sums of blocks (pass block_sums): a contraction whose integer sums are scaled and added up along
 * a batch axis, and perhaps one of the data. As one kernel each inner sum is used where it is made.
 */
#include "passes/common/fusion_impl.h"
#include "passes/common/match.h"

/* Integers by constants, bytes or of 16 bits, with one batch axis, [blocks, rows…, columns]. */
static bool is_of_integers(const hone_node_t* contract) {
  hone_dtype_t data = contract->inputs[0]->type.dtype, weights = contract->inputs[1]->type.dtype;
  return contract->dtype == HONE_I32 && contract->n_batch == 1 &&
         ((data == HONE_I8 && weights == HONE_U8) || (data == HONE_I16 && weights == HONE_I16)) &&
         hone_match_from_constants(contract->inputs[1]);
}

/* Whether the reduction adds up what the group makes of its sums, along its first axis and others
 * of the data. */
static bool adds_up_blocks(const hone_fusion_search_t* s, int group, const hone_node_t* reduce) {
  const hone_node_t* contract = s->f->groups[group].anchor;
  bool has_blocks = false;
  if (reduce->prim != HONE_PRIM_REDUCE || reduce->combine != HONE_COMBINE_ADD ||
      hone_fusion_group_of(s->f, s->index_of, reduce->inputs[0]) != group)
    return false;
  for (int i = 0; i < reduce->n_axes; i++) {
    const hone_value_t* v = reduce->inputs[0];
    int steps = 0, axis = hone_fusion_trace(s, group, &v, (int)reduce->axes[i], contract, &steps);
    if (axis < 0 || axis >= contract->inputs[0]->type.rank - 1) return false;
    has_blocks |= axis == 0;
  }
  return has_blocks;
}

void hone_fusion_join_blocks(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int g = 0; g < f->n_groups; g++) {
    const hone_fusion_group_t* group = &f->groups[g];
    bool is_only;
    if (group->merged >= 0 || group->kind != HONE_FUSION_CONTRACT || !is_of_integers(group->anchor))
      continue;
    int reader = hone_fusion_only_reader(f, s, g, &is_only);
    if (reader < 0 || !is_only || hone_fusion_gives_output(f, s, g) ||
        !adds_up_blocks(s, g, f->groups[reader].anchor) ||
        hone_fusion_grows_too_large(s, g, reader))
      continue;
    hone_fusion_merge(f, g, reader);
  }
}
