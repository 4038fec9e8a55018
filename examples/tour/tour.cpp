// SPDX-License-Identifier: Apache-2.0
// libtailor from C++: handles in unique_ptr, errors as exceptions, callbacks of lambdas, models in
// two threads at once. tour_cpp FOLDER. Needs only the installed library:
//   c++ -std=c++17 tour.cpp $(pkg-config --cflags --libs tailor) -pthread -o tour_cpp
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <tailor/tailor.h>
#include <thread>
#include <vector>

namespace {

struct error : std::runtime_error {
  int code;
  error(int which, const std::string &what) : std::runtime_error(what), code(which) {}
};

template <auto destroy> struct with {
  template <class T> void operator()(T *p) const { destroy(p); }
};
using model_handle = std::unique_ptr<tl_model, with<tl_model_destroy>>;
using tensors_handle = std::unique_ptr<tl_tensors, with<tl_tensors_destroy>>;
using comparison_handle = std::unique_ptr<tl_comparison, with<tl_comparison_destroy>>;

// A context with the errors of the last call.
class context {
public:
  context() : handle_(tl_context_create()) {
    if (!handle_)
      throw std::bad_alloc();
    tl_context_on_message(handle_.get(), hear, this);
  }

  tl_context *get() const { return handle_.get(); }

  void check(int code) {
    std::string what;
    what.swap(said_);
    if (code != TL_SUCCESS)
      throw error(code, what);
  }

  context &set(const char *name, const char *value) {
    check(tl_context_set(get(), name, value));
    return *this;
  }

  // The bytes must outlive the model.
  model_handle load(const char *name, const std::string &bytes) {
    tl_model *m = nullptr;
    check(tl_model_load_bytes(get(), name, bytes.data(), bytes.size(), &m));
    return model_handle(m);
  }

  model_handle copy(const model_handle &of) {
    tl_model *m = nullptr;
    check(tl_model_copy(of.get(), get(), &m));
    return model_handle(m);
  }

private:
  static void hear(void *user, const tl_message *m) {
    if (m->severity == TL_SEVERITY_ERROR)
      static_cast<context *>(user)->said_ += m->text;
  }

  std::unique_ptr<tl_context, with<tl_context_destroy>> handle_;
  std::string said_;
};

void need(bool condition, const char *what) {
  if (!condition)
    throw std::logic_error(what);
}

const std::string text = "graph @g(%x: f32[2,3]) -> (%y) {\n"
                         "  const %w: f32[3,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, "
                         "10.0, 11.0, 12.0]\n"
                         "  const %b: f32[4] = [1.0, 1.0, 1.0, 1.0]\n"
                         "  %t = MatMul(%x, %w)\n"
                         "  %u = Add(%t, %b)\n"
                         "  %v = Identity(%u)\n"
                         "  %y = Relu(%v)\n"
                         "}\n";

std::string view(tl_text t) { return std::string(t.at, t.n); }

// Ops of the main graph, in order.
std::vector<std::string> ops(const tl_model *m) {
  std::vector<std::string> found;
  tl_graph_view g;
  tl_node_view n;
  need(tl_model_graph(m, tl_model_main_graph(m), &g) != 0, "a main graph");
  for (uint32_t i = g.first; i != 0; i = n.next) {
    need(tl_model_node(m, i, &n) != 0, "a node");
    found.push_back(view(n.op));
  }
  return found;
}

std::vector<float> run(context &c, tl_model *m) {
  const int64_t dims[] = {2, 3};
  const float x[] = {1, 0, 0, 0, 1, 0};
  const tl_tensor_view in = {"x", TL_ELEMENT_F32, 2, dims, x, sizeof x};
  tl_run_settings settings = {};
  settings.exact = 1;
  tl_tensors *out = nullptr;
  c.check(tl_model_run(m, &in, 1, &settings, &out));
  tensors_handle owner(out);
  tl_tensor_view y;
  need(tl_tensors_get(out, 0, &y) != 0 && y.rank == 2 && y.dims[1] == 4, "a result");
  const float *data = static_cast<const float *>(y.data);
  return std::vector<float>(data, data + y.bytes / sizeof(float));
}

void verify(context &c, tl_model *a, tl_model *b) {
  tl_comparison *found = nullptr;
  c.check(tl_model_verify(a, b, nullptr, 0, nullptr, &found));
  comparison_handle owner(found);
  need(tl_comparison_equal(found) != 0, "equal outputs");
}

// Progress as a lambda: counts passes.
void count_passes(context &c, int *seen) {
  tl_context_on_progress(
      c.get(),
      [](void *user, const tl_progress_event *) {
        ++*static_cast<int *>(user);
        return 0;
      },
      seen);
}

std::string bytes_of(context &c, tl_model *m, const char *name) {
  void *bytes = nullptr;
  size_t n = 0;
  c.check(tl_model_save_bytes(m, name, &bytes, &n));
  std::string copy(static_cast<const char *>(bytes), n);
  tl_free(bytes);
  return copy;
}

// An op of ours: its shape function and its kernel as lambdas without captures.
void use_own_op() {
  context c;
  tl_op_def square = {};
  square.domain = "com.acme";
  square.name = "Square";
  square.infer = [](void *, tl_shape_call *call) {
    tl_element element;
    int32_t rank;
    const int64_t *dims;
    if (!tl_shape_operand(call, 0, &element, &rank, &dims))
      return tl_shape_fail(call, "Square needs an operand");
    return tl_shape_set(call, 0, element, rank, dims);
  };
  square.compute = [](void *, tl_compute_call *call) {
    tl_tensor_view x;
    void *to;
    if (!tl_compute_input(call, 0, &x))
      return tl_compute_fail(call, "Square needs an operand");
    const int code = tl_compute_output(call, 0, x.element, x.rank, x.dims, &to);
    const float *from = static_cast<const float *>(x.data);
    for (size_t i = 0; code == TL_SUCCESS && i < x.bytes / sizeof(float); i++)
      static_cast<float *>(to)[i] = from[i] * from[i];
    return code;
  };
  c.check(tl_op_register(c.get(), &square));
  const std::string ours = "graph @g(%x: f32[2,3]) -> (%y) {\n"
                           "  %t = com.acme::Square(%x)\n  %y = Concat(%t, %t) {axis=1}\n}\n";
  model_handle m = c.load("ours.tir", ours);
  c.check(tl_model_infer(m.get()));
  tl_value_view y;
  need(tl_model_value(m.get(), tl_model_find_value(m.get(), "y"), &y) != 0 && y.dims[1] == 6,
       "shapes go through the op");
  verify(c, m.get(), c.copy(m).get());
}

// A pass of ours, as an object whose address is `user`.
void use_own_pass() {
  struct counter {
    uint32_t nodes = 0;
    static int run(void *user, tl_model *m) {
      static_cast<counter *>(user)->nodes = tl_model_count_nodes(m);
      return TL_SUCCESS;
    }
  } nodes;
  context c;
  tl_pass_def pass = {};
  pass.name = "count-nodes";
  pass.run = counter::run;
  pass.user = &nodes;
  c.check(tl_pass_register(c.get(), &pass));
  model_handle m = c.load("model.tir", text);
  c.check(tl_model_run_passes(m.get(), "identity-elimination,count-nodes"));
  need(nodes.nodes == 3, "it ran behind the other one");
}

// One conversion with a context of its own.
std::string convert(tl_purpose purpose, const char *name) {
  context c;
  c.set("soc-version", "Ascend310P3");
  model_handle m = c.load("model.tir", text);
  c.check(tl_model_optimize(m.get(), purpose));
  return bytes_of(c, m.get(), name);
}

// Different contexts are independent: conversions in several threads give the same bytes.
void in_threads() {
  std::vector<std::string> made(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < made.size(); i++)
    threads.emplace_back([&made, i] { made[i] = convert(TL_FOR_AIR, "model.air"); });
  for (std::thread &t : threads)
    t.join();
  for (const std::string &one : made)
    need(!one.empty() && one == made[0], "the same bytes in each thread");
}

void errors() {
  context c;
  try {
    c.load("broken.onnx", "this is no model");
    need(false, "a refusal");
  } catch (const error &e) {
    need(e.code == TL_ERROR_INPUT && std::strstr(e.what(), "broken.onnx") != nullptr, "its name");
  }
}

void tour(const std::string &folder) {
  context c;
  int seen = 0;
  count_passes(c, &seen);
  model_handle before = c.load("model.tir", text);
  model_handle after = c.copy(before);
  tl_model_keep_remarks(after.get(), 1, 0);
  c.check(tl_model_optimize(after.get(), TL_FOR_ONNX));
  need(seen > 0, "passes ran");
  need(tl_model_remark_count(after.get()) > 0, "remarks");
  need(ops(before.get()).size() == 4 && ops(after.get()).size() < 4, "fewer nodes");
  need(run(c, before.get()) == run(c, after.get()), "the same numbers");
  verify(c, before.get(), after.get());
  c.check(tl_model_save(after.get(), (folder + "/tour_cpp.onnx").c_str()));
  const std::string bytes = bytes_of(c, after.get(), "again.onnx"); // the model keeps views of them
  model_handle again = c.load("again.onnx", bytes);
  need(run(c, again.get()) == run(c, after.get()), "the same numbers once more");
}

} // namespace

int main(int argc, char **argv) {
  try {
    need(argc == 2, "usage: tour_cpp FOLDER");
    tour(argv[1]);
    errors();
    use_own_op();
    use_own_pass();
    in_threads();
    std::puts("all of it works");
    return 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "tour.cpp: %s\n", e.what());
    return 1;
  }
}
