/* Reading one line. The box is cut out and scaled to the network's height. For
 * each step along the line the network gives a probability for "nothing new"
 * (class 0), each character of the dictionary, and a blank space (the last
 * class). The text is the likeliest class at each step, where repetitions
 * count once (greedy decoding of connectionist temporal classification). */
#include <math.h>
#include <string.h>

#include "ocr.h"

enum { LINE_HEIGHT = 48, MIN_WIDTH = 32, MAX_WIDTH = 3200 };

static int crop_width(const box_t* box) {
  float width = ceilf(LINE_HEIGHT * box_width(box) / fmaxf(box_height(box), 1));
  return (int)fminf(fmaxf(width, MIN_WIDTH), MAX_WIDTH);
}

static hone_status_t line_tensor(const image_t* page, const box_t* box,
                                 hone_tensor_t** out_tensor) {
  const float half[3] = {0.5f, 0.5f, 0.5f};
  image_t crop;
  hone_status_t status = image_sample(page, box, crop_width(box), LINE_HEIGHT, &crop);
  if (!status) status = image_to_tensor(&crop, half, half, out_tensor);
  image_free(&crop);
  return status;
}

/* The `index`-th line of the dictionary, from 0; a blank space after the last. */
static const char* character(const char* dictionary, int64_t index, size_t* out_size) {
  while (index > 0 && dictionary) {
    dictionary = strchr(dictionary, '\n');
    if (dictionary) dictionary++;
    index--;
  }
  if (!dictionary || !*dictionary) {
    *out_size = 1;
    return " ";
  }
  *out_size = strcspn(dictionary, "\n");
  return dictionary;
}

static int64_t likeliest(const float* scores, int64_t classes) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; c++) {
    if (scores[c] > scores[best]) best = c;
  }
  return best;
}

static void decode(const float* scores, int64_t steps, int64_t classes, const char* dictionary,
                   text_line_t* line) {
  size_t used = 0;
  int count = 0;
  float sum = 0;
  int64_t before = 0;
  for (int64_t t = 0; t < steps; t++, scores += classes) {
    int64_t best = likeliest(scores, classes);
    bool is_new = best != 0 && best != before;
    before = best;
    size_t size;
    const char* text = is_new ? character(dictionary, best - 1, &size) : NULL;
    if (!is_new || used + size >= LINE_TEXT_SIZE) continue;
    memcpy(line->text + used, text, size);
    used += size;
    sum += scores[best];
    count++;
  }
  line->text[used] = 0;
  line->read = count ? sum / (float)count : 0;
}

static hone_status_t decode_tensor(const hone_tensor_t* scores, const char* dictionary,
                                   text_line_t* line) {
  const int64_t* dims = hone_tensor_dims(scores);
  if (hone_tensor_dtype(scores) != HONE_F32 || hone_tensor_rank(scores) != 3 || dims[0] != 1 ||
      dims[2] < 1) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "the reading network gives no scores f32[1, steps, classes]");
  }
  decode(hone_tensor_data(scores), dims[1], dims[2], dictionary, line);
  return NULL;
}

hone_status_t ocr_read(net_t* net, const image_t* page, text_line_t* line) {
  const char* dictionary = hone_model_metadata(net->model, "character");
  if (!dictionary) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "%s: no dictionary: the metadata `character` is "
                            "missing",
                            net->path);
  }
  hone_tensor_t *input = NULL, *scores = NULL;
  hone_status_t status = line_tensor(page, &line->box, &input);
  if (!status) status = net_run(net, 1, &input, &scores);
  if (!status) status = decode_tensor(scores, dictionary, line);
  hone_tensor_release(scores);
  hone_tensor_release(input);
  return status;
}
