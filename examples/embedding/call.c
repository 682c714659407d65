/* Calls an exported model and prints what it takes and gives:
 *   penstock export --dynamic-sizes=input:0=rows -o mlp.pstk mlp.py
 *   cc call.c $(pkg-config --cflags --libs penstock) -o call
 *   ./call mlp.pstk 3
 */
#include <inttypes.h>
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(penstock_error *error) {
  if (error == NULL) return 0;
  fprintf(stderr, "call: %s [%s]\n%s\n", penstock_error_message(error), penstock_error_code(error),
          penstock_error_hint(error));
  penstock_error_free(error);
  return 1;
}

static void describe(const char *what, const penstock_value *value) {
  printf("%s %s:", what, value->name);
  for (int32_t dim = 0; dim < value->rank; ++dim) printf(" %s", value->size_texts[dim]);
  printf("\n");
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: call MODEL ROWS\n");
    return 2;
  }
  penstock_model *model = NULL;
  penstock_runner *runner = NULL;
  penstock_results *results = NULL;
  if (failed(penstock_load(argv[1], NULL, &model))) return 1;
  if (failed(penstock_runner_new(model, &runner))) return 1;
  const penstock_value *argument = penstock_argument(model, 0);
  describe("argument", argument);
  describe("result", penstock_result(model, 0));

  /* Rows of numbers from 0 to 1, in memory of our own. */
  const int64_t sizes[] = {atol(argv[2]), argument->greatest[1]};
  const int64_t count = sizes[0] * sizes[1];
  float *rows = malloc((size_t)count * sizeof *rows);
  for (int64_t i = 0; i < count; ++i) rows[i] = (float)i / (float)count;
  const penstock_tensor given = {rows, PENSTOCK_FLOAT32, 2, sizes, NULL};
  int status = failed(penstock_run(runner, &given, 1, &results));
  if (status == 0) {
    const penstock_tensor *result = penstock_results_tensor(results, 0);
    for (int64_t row = 0; row < result->sizes[0]; ++row) {
      const float *first = (const float *)result->data + row * result->strides[0];
      printf("row %" PRId64 " begins with %.5f\n", row, first[0]);
    }
  }
  penstock_results_free(results);
  penstock_runner_free(runner);
  penstock_model_free(model);
  free(rows);
  return status;
}
