#include "capture/torture.h"

#include <unordered_map>
#include <vector>

#include "python/bytecode.h"
#include "python/hook.h"
#include "python/versions/private_api.h"
#include "record/models.h"
#include "record/walk.h"
#include "torch/connection.h"

namespace penstock::capture {

using policy::Callables;
using python::Directive;
using python::Entry;
using python::Frame;
using python::Instruction;
using python::Leaving;
using python::Opcode;
using python::Outcome;
using record::Walk;

namespace {

/// A walk keeps what it has seen alive: it is given up after so many instructions.
constexpr int kLongest = 4096;

/// Keeps the error that is set from what letting go of a walk may run.
class ErrorKeeper {
 public:
  ErrorKeeper() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~ErrorKeeper() { PyErr_Restore(type_, value_, traceback_); }
  ErrorKeeper(const ErrorKeeper&) = delete;
  ErrorKeeper& operator=(const ErrorKeeper&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

struct Activation;

/// One walk: of the frame that it started in and of those that it follows into.
struct Session {
  std::unique_ptr<Walk> walk;
  Activation* start = nullptr;
  int instructions = 0;
};

struct Activation {
  Frame* frame = nullptr;
  std::shared_ptr<Session> session;  ///< null: none is under way
  record::FrameShadow* shadow = nullptr;
  std::uint64_t instructions = 0;
  std::uint64_t followed = 0;  ///< a rule moved what is known of their operands
};

class Torture final : public python::FrameDriver {
 public:
  explicit Torture(Callables callables) : callables_(std::move(callables)) {}
  Entry enter(Frame& frame) override;
  Directive instruction(Frame& frame, const Instruction& instruction) override;
  bool stepped(Frame& frame, const Instruction& instruction, Outcome outcome) override;
  void unwound(Frame& frame, int depth) override;
  void leave(Frame& frame, Leaving how, PyObject* value) override;

 private:
  using Stack = std::vector<std::unique_ptr<Activation>>;

  static Activation& activation(Frame& frame) {
    return *static_cast<Activation*>(frame.attachment);
  }
  const torch::TensorBridge& bridge();
  void start(Activation& activation);
  /// Ends the session of `activation` for all frames that it is walking.
  void give_up(Activation& activation);

  std::unordered_map<PyThreadState*, Stack> stacks_;
  torch::SchemaTable schemas_;
  policy::CompileApi compile_api_;
  Callables callables_;
};

const torch::TensorBridge& Torture::bridge() {
  auto torch = torch::TensorBridge::get();
  return torch && *torch != nullptr ? **torch : torch::TensorBridge::absent();
}

Entry Torture::enter(Frame& frame) {
  if (python::is_finalizing()) return Entry::native;  // the modules that walks look into are gone
  Stack& stack = stacks_[frame.thread()];
  auto entering = std::make_unique<Activation>();
  entering->frame = &frame;
  Activation* caller = stack.empty() ? nullptr : stack.back().get();
  const bool walking = caller != nullptr && caller->session != nullptr &&
                       caller->session->walk->innermost() == caller->shadow;
  if (walking && PyErr_Occurred() == nullptr && caller->session->walk->expects(frame) &&
      !caller->session->walk->expects_native()) {
    entering->session = caller->session;
    entering->shadow = &caller->session->walk->enter(frame);
  }
  frame.attachment = entering.get();
  stack.push_back(std::move(entering));
  return Entry::conduct;
}

void Torture::start(Activation& activation) {
  auto session = std::make_shared<Session>();
  session->walk = std::make_unique<Walk>(bridge(), schemas_, compile_api_, callables_, nullptr,
                                         record::DynamicSizes::off, false, true);
  session->walk->objects.release_all();
  session->start = &activation;
  activation.shadow = &session->walk->start(*activation.frame);
  activation.session = std::move(session);
}

void Torture::give_up(Activation& activation) {
  // The frames of a walk lie above the one that it began in.
  const std::shared_ptr<Session> session = activation.session;
  Stack& stack = stacks_[activation.frame->thread()];
  for (auto other = stack.rbegin(); other != stack.rend(); ++other) {
    if ((*other)->session != session) continue;
    (*other)->session = nullptr;
    (*other)->shadow = nullptr;
    if (other->get() == session->start) break;
  }
  const ErrorKeeper keeper;
  session->walk = nullptr;
}

Directive Torture::instruction(Frame& frame, const Instruction& instruction) {
  Activation& here = activation(frame);
  const python::HookPause pause;  // what a rule runs is no frame of the program
  ++here.instructions;
  if (here.session != nullptr &&
      (here.session->walk->verdict.spoiled() || ++here.session->instructions > kLongest)) {
    give_up(here);
  }
  if (here.session == nullptr) start(here);
  const bool ends = here.session->start == &here && python::returns(instruction.opcode);
  if (!ends && here.session->walk->before(*here.shadow, instruction)) {
    ++here.followed;
  } else {
    here.followed += ends;
    give_up(here);
  }
  PyErr_Clear();
  return Directive::step;
}

bool Torture::stepped(Frame& frame, const Instruction&, Outcome outcome) {
  Activation& here = activation(frame);
  if (here.session == nullptr) return false;
  if (outcome == Outcome::raised || outcome == Outcome::reraised) {
    const ErrorKeeper keeper;
    here.session->walk->raised(*here.shadow, outcome == Outcome::reraised);
    return false;
  }
  here.session->walk->after(*here.shadow);
  here.session->walk->objects.release_dead();
  return false;
}

void Torture::unwound(Frame& frame, int depth) {
  Activation& here = activation(frame);
  if (here.session != nullptr) here.session->walk->unwound(*here.shadow, depth);
}

void Torture::leave(Frame& frame, Leaving how, PyObject*) {
  Activation& here = activation(frame);
  const bool whole = how == Leaving::returned || how == Leaving::yielded;
  if (here.session != nullptr) {
    if (here.session->start == &here || how == Leaving::exited) {
      give_up(here);
    } else {
      here.session->walk->leave(*here.shadow, how == Leaving::yielded, !whole);
    }
  }
  if (how != Leaving::exited) python::count_walked(here.instructions, here.followed);
  Stack& stack = stacks_[frame.thread()];
  while (!stack.empty()) {
    const bool found = stack.back().get() == &here;
    stack.pop_back();
    if (found) break;
  }
}

}  // namespace

Result<std::unique_ptr<python::FrameDriver>> make_torture(const python::Settings& settings) {
  auto callables = record::callables_with_models(std::string(settings.get("rules")));
  if (!callables) return tl::unexpected(std::move(callables.error()));
  torch::connect_to_python();
  return std::make_unique<Torture>(std::move(*callables));
}

}  // namespace penstock::capture
