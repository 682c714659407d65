/* libpenstock: runs models that `penstock export` made, without Python, torch or a compiler.
 *
 *   penstock_model *model;
 *   penstock_error *error = penstock_load("model.pstk", NULL, &model);
 *   if (error) { fprintf(stderr, "%s\n", penstock_error_message(error)); ... }
 *   penstock_runner *runner;
 *   error = penstock_runner_new(model, &runner);
 *   ...
 *   penstock_results *results;
 *   error = penstock_run(runner, arguments, count, &results);
 *   const penstock_tensor *first = penstock_results_tensor(results, 0);
 *
 * Errors are values: what can fail returns NULL, or an error that its receiver frees; nothing is
 * printed, and no function ends the process. A model may be used by any number of threads at once,
 * a runner by one at a time; all runners of a model, and all processes, share one mapping of its
 * weights. What is freed may be NULL. A model is freed when its last runner is. libpenstock(3) says
 * more.
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of this header; a program made with an older one goes on to work. */
#define PENSTOCK_API_VERSION 1

typedef struct penstock_error penstock_error;
typedef struct penstock_model penstock_model;
typedef struct penstock_runner penstock_runner;
typedef struct penstock_results penstock_results;

/* Element types; the numbers are stable. */
typedef enum penstock_dtype {
  PENSTOCK_UINT8 = 0,
  PENSTOCK_INT8 = 1,
  PENSTOCK_INT16 = 2,
  PENSTOCK_INT32 = 3,
  PENSTOCK_INT64 = 4,
  PENSTOCK_FLOAT16 = 5,
  PENSTOCK_FLOAT32 = 6,
  PENSTOCK_FLOAT64 = 7,
  PENSTOCK_COMPLEX64 = 9,
  PENSTOCK_COMPLEX128 = 10,
  PENSTOCK_BOOL = 11,
  PENSTOCK_BFLOAT16 = 15
} penstock_dtype;

/* A tensor in memory. Sizes and strides count elements. */
typedef struct penstock_tensor {
  void* data; /* the first element; of an argument only read, of a result only to be read */
  penstock_dtype dtype;
  int32_t rank;
  const int64_t* sizes;
  const int64_t* strides; /* NULL, in arguments and places: row-major */
} penstock_tensor;

/* What a model takes or gives. Lives as long as the model. */
typedef struct penstock_value {
  const char* name; /* an argument's in the exported function; of a result the way to it in what is
                       returned: "result", "0", "logits", "past.1" */
  penstock_dtype dtype;
  int32_t rank;
  const char* const* size_texts; /* "128", "batch", "2*seq" */
  const int64_t* least;          /* of each size; as `greatest`: it is that number */
  const int64_t* greatest;
  int is_new_value; /* of a result: what a tensor holds that the call writes, behind all others */
} penstock_value;

/* How a model is loaded; zeros are defaults. */
typedef struct penstock_options {
  size_t size;       /* sizeof(penstock_options) */
  const char* store; /* the folder that weights and code are unpacked into and mapped from; NULL:
                        $PENSTOCK_STORE, else $XDG_CACHE_HOME/penstock, else ~/.cache/penstock */
  const char* graph; /* which graph, by id or name; NULL: the only one */
  int trust; /* run machine code that was made elsewhere: it can do whatever the process can */
  int deterministic; /* the same bits for any number of threads */
} penstock_options;

/* The version of the library, "0.1.0". */
const char* penstock_version(void);
/* PENSTOCK_API_VERSION of the library. */
int penstock_api_version(void);

/* The sentence; what to do; the stable code ("PS0806", penstock explain CODE); the place in a file
 * or in the exported program, where there is one, else "". Live as long as the error. */
const char* penstock_error_message(const penstock_error* error);
const char* penstock_error_hint(const penstock_error* error);
const char* penstock_error_code(const penstock_error* error);
const char* penstock_error_place(const penstock_error* error);
void penstock_error_free(penstock_error* error);

/* Reads a packed file. Options may be NULL. */
penstock_error* penstock_load(const char* path, const penstock_options* options,
                              penstock_model** model);
void penstock_model_free(penstock_model* model);

/* The name of the exported function. */
const char* penstock_model_name(const penstock_model* model);
size_t penstock_argument_count(const penstock_model* model);
size_t penstock_result_count(const penstock_model* model);
/* NULL: there is none of that index. */
const penstock_value* penstock_argument(const penstock_model* model, size_t index);
const penstock_value* penstock_result(const penstock_model* model, size_t index);

penstock_error* penstock_runner_new(penstock_model* model, penstock_runner** runner);
void penstock_runner_free(penstock_runner* runner);
/* How many threads the runner's calls use; 0, as at first: as many as OpenMP gives the calling
 * thread. */
void penstock_runner_set_threads(penstock_runner* runner, int threads);

/* Calls the model with `count` arguments, in the order of penstock_argument. The results have
 * memory of their own and stay valid whatever becomes of the runner. */
penstock_error* penstock_run(penstock_runner* runner, const penstock_tensor* arguments,
                             size_t count, penstock_results** results);
/* The same, with results written into the memory of `places`, which have the results' dtypes and
 * sizes: the first `place_count` results; the others are dropped. A place may lie in an argument.
 */
penstock_error* penstock_run_into(penstock_runner* runner, const penstock_tensor* arguments,
                                  size_t count, const penstock_tensor* places, size_t place_count);

size_t penstock_results_count(const penstock_results* results);
/* NULL: there is none of that index. Lives as long as the results. */
const penstock_tensor* penstock_results_tensor(const penstock_results* results, size_t index);
void penstock_results_free(penstock_results* results);

#ifdef __cplusplus
}
#endif

#endif
