/* SPDX-License-Identifier: Apache-2.0 */
/* No compiled rules: for the program that compiles them, and for builds that cannot run it. Rules
 * are then parsed when they are loaded. */
#include "passes/engine/image.h"

const uint32_t tl_n_rule_images = 0;
const tl_rule_image tl_rule_images[] = {{.whole = false}};
const tl_image_value tl_image_values[] = {{.n = 0}};
const tl_image_text tl_image_names[] = {{.n = 0}};
const tl_image_node tl_image_nodes[] = {{.n_ops = 0}};
const tl_op_id tl_image_ops[] = {0};
const tl_image_operand tl_image_operands[] = {{.kind = 0}};
const tl_image_attr tl_image_attrs[] = {{.name = 0}};
const tl_image_expr tl_image_exprs[] = {{.n = 0}};
const tl_image_ref tl_image_refs[] = {0};
const uint8_t tl_image_lets[] = {0};
const tl_rule_step tl_image_steps[] = {{0, 0}};
const tl_automaton tl_image_automaton = {.states = NULL};
const int32_t tl_image_priorities[] = {0};
const tl_image_text_list tl_image_strings = {.n = 0};
