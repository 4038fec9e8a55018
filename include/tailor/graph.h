/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into a model and changing it. Nodes, values and graphs are numbers, which are valid in
 * this model until it is destroyed: an erased node's number is never given again. 0 is none. What
 * is looked at is a view: nothing is copied, and it is valid until the model is changed. */
#ifndef TL_TAILOR_GRAPH_H
#define TL_TAILOR_GRAPH_H

#include <tailor/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a name, as the file has them: no NUL behind them. print: "%.*s", (int)t.n, t.at. */
typedef struct tl_text {
  const char *at; /* the bytes */
  size_t n;       /* number of them */
} tl_text;

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A graph: the main one, or the body of a node. */
typedef struct tl_graph_view {
  tl_text name;         /* as the model has it */
  uint32_t owner;       /* of the body of an If, Loop ...: its node; else 0 */
  uint32_t n_inputs;    /* of tl_model_input */
  uint32_t n_outputs;   /* of tl_model_output */
  uint32_t n_constants; /* weights; some may be erased */
  uint32_t n_nodes;     /* without those of bodies */
  uint32_t first;       /* node in topological order; 0: there is none */
} tl_graph_view;

/* The main graph. */
TL_API uint32_t tl_model_main_graph(const tl_model *m);
/* Nodes in all graphs of the model. */
TL_API uint32_t tl_model_count_nodes(const tl_model *m);
/* Describes a graph; returns 0 if there is none of this number. */
TL_API int tl_model_graph(const tl_model *m, uint32_t graph, tl_graph_view *out);
/* Values: input, output, constant i of a graph; 0 beyond the end, and for an erased constant. */
TL_API uint32_t tl_model_input(const tl_model *m, uint32_t graph, uint32_t i);
TL_API uint32_t tl_model_output(const tl_model *m, uint32_t graph, uint32_t i);
TL_API uint32_t tl_model_constant(const tl_model *m, uint32_t graph, uint32_t i);
/* The version of an imported opset; "" is the default domain. 0: not imported. */
TL_API int64_t tl_model_opset(const tl_model *m, const char *domain);

/* ---- values ---------------------------------------------------------------------------------- */

/* What defines a value. */
typedef enum tl_value_role {
  TL_VALUE_IS_RESULT = 1, /* of a node */
  TL_VALUE_IS_INPUT,
  TL_VALUE_IS_CONSTANT
} tl_value_role;

/* A value: what a node gives, an input, or a constant. */
typedef struct tl_value_view {
  tl_text name;        /* unique in the model */
  tl_value_role role;  /* what defines it */
  tl_element element;  /* UNKNOWN: it is no tensor, or not inferred */
  int32_t rank;        /* TL_RANK_OPEN: not known */
  const int64_t *dims; /* [rank]; sizes, TL_DIM_OPEN, or below that a symbol: tl_model_symbol */
  uint32_t producer;   /* node; 0: none */
  uint32_t n_uses;     /* as operands, and as outputs of graphs */
} tl_value_view;

/* Describes a value; returns 0 if there is none of this number. */
TL_API int tl_model_value(const tl_model *m, uint32_t value, tl_value_view *out);
/* The name of a dim that is no size; empty for one that is not known. */
TL_API tl_text tl_model_symbol(const tl_model *m, int64_t dim);
/* The value of a name in the main graph, 0 if there is none. O(values). */
TL_API uint32_t tl_model_find_value(const tl_model *m, const char *name);
/* The data of a constant, or the default of an input. Returns 0 if the value has none. view->data
 * is NULL for weights that are computed when they are read, and for strings: tl_model_read_weight
 * has them. view->name is NULL. */
TL_API int tl_model_weight(const tl_model *m, uint32_t value, tl_tensor_view *view);
/* Copies the data of a weight of numbers, view->bytes of them, to memory that is aligned for its
 * elements. TL_ERROR_USAGE if it has none, or
 * another size. */
TL_API int tl_model_read_weight(const tl_model *m, uint32_t value, void *to, uint64_t bytes);
/* Node that uses the value as an operand, by its position in the list of uses; 0 for an output of a
 * graph and beyond the end. *operand: which operand. O(i). */
TL_API uint32_t tl_model_user(const tl_model *m, uint32_t value, uint32_t i, uint32_t *operand);

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node. */
typedef struct tl_node_view {
  tl_text name;          /* may be empty */
  tl_text domain;        /* empty: ONNX's own */
  tl_text op;            /* name of its op */
  uint32_t graph;        /* that it is in */
  uint32_t n_operands;   /* of tl_model_operand, absent ones included */
  uint32_t n_results;    /* of tl_model_result */
  uint32_t n_attributes; /* of tl_model_attribute */
  uint32_t previous;     /* in its graph */
  uint32_t next;         /* 0: none */
} tl_node_view;

/* Describes a node; returns 0 if there is none of this number, or it was erased. */
TL_API int tl_model_node(const tl_model *m, uint32_t node, tl_node_view *out);
/* Values of a node; 0: absent, or beyond the end. */
TL_API uint32_t tl_model_operand(const tl_model *m, uint32_t node, uint32_t i);
TL_API uint32_t tl_model_result(const tl_model *m, uint32_t node, uint32_t i);
/* The node of a name, 0 if there is none. O(nodes). */
TL_API uint32_t tl_model_find_node(const tl_model *m, const char *name);
/* Names of the nodes of the original model that a node was made of, as ["a", "b"]; empty if it is
 * one of them itself, or without memory, which the context's function for messages is told. */
TL_API tl_text tl_model_origins(const tl_model *m, uint32_t node);

/* Types of attributes, as ONNX has them. */
typedef enum tl_attribute_type {
  TL_ATTRIBUTE_OTHER, /* a type, a sparse tensor, lists of tensors or graphs */
  TL_ATTRIBUTE_INT,
  TL_ATTRIBUTE_FLOAT,
  TL_ATTRIBUTE_STRING,
  TL_ATTRIBUTE_TENSOR,
  TL_ATTRIBUTE_GRAPH,
  TL_ATTRIBUTE_INTS,
  TL_ATTRIBUTE_FLOATS,
  TL_ATTRIBUTE_STRINGS
} tl_attribute_type;

/* An attribute; the members of its type are set. */
typedef struct tl_attribute_view {
  tl_text name;            /* of the attribute */
  tl_attribute_type type;  /* which of the members below is set */
  uint32_t n;              /* elements of a list */
  int64_t integer;         /* INT */
  float number;            /* FLOAT */
  tl_text text;            /* STRING */
  const int64_t *integers; /* INTS: [n] */
  const float *numbers;    /* FLOATS: [n] */
  uint32_t graph;          /* GRAPH: its number */
  tl_tensor_view tensor;   /* TENSOR */
} tl_attribute_view;

/* Describes attribute i of a node; returns 0 beyond the end. */
TL_API int tl_model_attribute(const tl_model *m, uint32_t node, uint32_t i, tl_attribute_view *out);
/* Finds an attribute by name; returns 0 if the node does not have it. */
TL_API int tl_model_find_attribute(const tl_model *m, uint32_t node, const char *name,
                                   tl_attribute_view *out);
/* String k of an attribute `name` that is a list of strings; empty beyond the end. */
TL_API tl_text tl_model_attribute_text(const tl_model *m, uint32_t node, const char *name,
                                       uint32_t k);

/* ---- changing -------------------------------------------------------------------------------- */

/* A node to be made. Later versions may add members at the end: begin with "= {0}". */
typedef struct tl_new_node {
  const char *domain;       /* NULL: ONNX's own */
  const char *op;           /* name of the op */
  const char *name;         /* NULL: none */
  const uint32_t *operands; /* [n_operands] values; 0: absent */
  uint32_t n_operands;      /* number of operands */
  uint32_t n_results;       /* results to make */
  uint32_t before;          /* node that it is put in front of; 0: at the end of `graph` */
  uint32_t graph;           /* of the node, if there is no `before` */
} tl_new_node;

/* Adds a node as spec describes it, whose results have names that are free and no types yet. *node
 * receives it. Errors of this and the following functions: TL_ERROR_USAGE for numbers that name
 * nothing, TL_ERROR_INTERNAL without memory; the model is then as it was. The caller keeps the
 * topological order, and types that fit. What uses a changed model (optimizing, saving, running,
 * the end of a pass) first checks it, as tl_model_check does. */
TL_API int tl_model_add_node(tl_model *m, const tl_new_node *spec, uint32_t *node);
/* Erases a node whose results nobody uses, with its bodies. */
TL_API int tl_model_erase_node(tl_model *m, uint32_t node);
/* Replaces an operand; value 0 makes it absent. */
TL_API int tl_model_set_operand(tl_model *m, uint32_t node, uint32_t i, uint32_t value);
/* Makes all users of the value `from` use the value `to`, outputs of graphs too. */
TL_API int tl_model_replace_uses(tl_model *m, uint32_t from, uint32_t to);
/* Renames a value. TL_ERROR_USAGE if another value has the name. */
TL_API int tl_model_rename(tl_model *m, uint32_t value, const char *name);
/* Adds a constant with a copy of the data, of numbers; tensor->name is its name, NULL: a free one.
 * *value receives its number. */
TL_API int tl_model_add_constant(tl_model *m, uint32_t graph, const tl_tensor_view *tensor,
                                 uint32_t *value);
/* Replaces the outputs of a graph by `values`, of which there are n. */
TL_API int tl_model_set_outputs(tl_model *m, uint32_t graph, const uint32_t *values, uint32_t n);
/* Set the attribute `name` of a node to v (of integers: n of them), whatever it was before; remove
 * it. */
TL_API int tl_model_set_integer(tl_model *m, uint32_t node, const char *name, int64_t v);
TL_API int tl_model_set_number(tl_model *m, uint32_t node, const char *name, float v);
TL_API int tl_model_set_text(tl_model *m, uint32_t node, const char *name, const char *v);
TL_API int tl_model_set_integers(tl_model *m, uint32_t node, const char *name, const int64_t *v,
                                 uint32_t n);
TL_API int tl_model_remove_attribute(tl_model *m, uint32_t node, const char *name);
/* Checks links, order, names, and types against ops. TL_ERROR_INPUT, with a message for each
 * finding.
 */
TL_API int tl_model_check(tl_model *m);

#ifdef __cplusplus
}
#endif

#endif
