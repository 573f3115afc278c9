"""Models are loaded, built and run with each of their allocations failing in turn: that gives an
out-of-memory status, no crash and no leak. One operator of each kind, from the onnx package."""

import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = BUILD / "tests" / "tests_tools_session_faults"
TENSOR = "1"  # HONE_ONNX_TYPE_TENSOR
NAMES = """
    acosh add_bcast argmax_keepdims_random attention_3d averagepool_2d_pads
    batchnorm_epsilon_training_mode bitshift_left_uint8 cast_FLOAT_to_STRING clip_splitbounds
    compress_0 concat_3d_axis_1 basic_conv_with_padding convtranspose cumsum_2d_axis_0
    dequantizelinear_axis det_nd dropout_default_mask dynamicquantizelinear einsum_batch_diagonal
    expand_dim_changed gather_elements_1 gathernd_example_int32 gemm_all_attributes
    gridsample_bicubic group_normalization_example gru_defaults if layer_normalization_default_axis
    linear_attention_gated loop11 lrn lstm_with_peepholes matmul_1d_3d matmul_4d
    maxpool_2d_dilations
    nllloss_NCd1_weight_ii nonmaxsuppression_suppress_by_IOU nonzero_example onehot_with_axis
    constant_pad qlinearconv qlinearmatmul_2D_uint8_float32 range_float_type_positive_delta
    reduce_l2_keep_dims_random reduce_log_sum_exp_default_axes_keepdims_random
    reshape_allowzero_reordered
    resize_upsample_scales_cubic reversesequence_batch scan9_sum scatter_elements_with_axis
    scatternd_add sce_mean_weight slice_negative_axes softmax_axis_1 split_equal_parts_1d_opset18
    stft strnormalizer_nostopwords_nochangecase tfidfvectorizer_tf_batch_bigrams_skip5 tile top_k
    transpose_all_permutations_3 tril unique_sorted_with_axis where_example
""".split()


def write_case(case, folder):
    """The line that asks for the case."""
    parts = [str(folder / f"{case.name}.onnx")]
    onnx.save(case.model, parts[0])
    for i, value in enumerate(case.data_sets[0][0]):
        if not isinstance(value, onnx.TensorProto):
            value = onnx.numpy_helper.from_array(np.asarray(value))
        path = folder / f"{case.name}_{i}.pb"
        path.write_bytes(value.SerializeToString())
        parts += [TENSOR, str(path)]
    return "\t".join(parts)


@pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")
@pytest.mark.filterwarnings("ignore")
def test_each_allocation_may_fail(tmp_path):
    wanted = {"test_" + name for name in NAMES}
    cases = [case for case in load_model_tests(kind="node") if case.name in wanted]
    assert len(cases) > len(NAMES) * 0.9
    lines = "\n".join(write_case(case, tmp_path) for case in cases)
    run = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, timeout=200)
    answers = run.stdout.splitlines()
    for case, answer in zip(cases, answers):
        assert answer.startswith("ok "), f"{case.name}: {answer}"
        assert int(answer[3:]) > 0, case.name
    assert run.returncode == 0 and len(answers) == len(cases), \
        f"ended at {cases[len(answers)].name}: {run.stderr[-2000:]}"
