// The wrappers of the dispatch table, generated from functions.inc by templates: Wrapped<...>::call
// has the type of the function that it replaces. Used by layer.cpp only. A wrapper records the
// call, and for an enqueue passes the launched op to launch.h. While recording is off it costs one
// check.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/opencl/arguments.h"
#include "backends/opencl/board.h"
#include "backends/opencl/hooks.h"
#include "backends/opencl/kernels.h"
#include "backends/opencl/launch.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/plain_ops.h"

namespace sonde::opencl {

template <typename T>
constexpr bool fits(char format) {
  if constexpr (std::is_same_v<T, const char*>) return format == 's';
  if constexpr (std::is_same_v<T, const cl_event*>) return format == 's';
  if constexpr (std::is_same_v<T, const size_t*>) return format == 'v' || format == 'p';
  if constexpr (std::is_pointer_v<T>) return format == 'p';
  return format == 'u' || format == 'x' || format == 'd';
}

template <typename T>
void pack(sonde_args* args, T value) {
  if constexpr (std::is_same_v<T, const char*>) {
    sonde_arg_text(args, value);
  } else if constexpr (std::is_pointer_v<T>) {
    sonde_arg_u64(args, reinterpret_cast<uint64_t>(value));
  } else {
    sonde_arg_u64(args, static_cast<uint64_t>(value));
  }
}

inline void pack_sizes(sonde_args* args, const size_t* sizes, size_t count) {
  for (size_t i = 0; i < 3; ++i) sonde_arg_u64(args, sizes != nullptr && i < count ? sizes[i] : 0);
}

// A wait list, "0x55d0,0x55e8", as far as there is room.
inline void pack_events(sonde_args* args, const cl_event* events, size_t count) {
  constexpr size_t kMost = 16, kDigits = 2 * sizeof(cl_event);
  char text[kMost * (kDigits + 3) + 1];
  char* end = text;
  for (size_t i = 0; events != nullptr && i < count && i < kMost; ++i) {
    if (i > 0) *end++ = ',';
    const auto handle = reinterpret_cast<uint64_t>(events[i]);
    size_t digits = 1;
    while (digits < kDigits && handle >> (4 * digits) != 0) ++digits;
    *end++ = '0';
    *end++ = 'x';
    while (digits > 0) *end++ = "0123456789abcdef"[handle >> (4 * --digits) & 15];
  }
  *end = '\0';
  sonde_arg_text(args, text);
}

// How many values a `const size_t*` of an enqueue points to: three for origins and regions.
template <Function F, typename... A>
size_t sizes_of(A... a) {
  if constexpr (F == Function::clEnqueueNDRangeKernel) {
    const cl_uint dimensions = argument<index_of(F, "work_dim")>(a...);
    return dimensions <= 3 ? dimensions : 0;
  } else if constexpr (F == Function::clEnqueueSVMMigrateMem) {
    return argument<index_of(F, "num_pointers")>(a...);
  }
  return 3;
}

template <Function F, auto Member, typename Pointer>
struct Wrapped;

template <Function F, auto Member, typename R, typename... A>
struct Wrapped<F, Member, R (*)(A...)> {
  static constexpr char kKind = info(F).kind;
  static constexpr bool kEnqueues = kKind == 'E' || kKind == 'L' || kKind == 'M';
  static constexpr size_t kCount = sizeof...(A);
  // Functions that return a handle give their error code through the last argument.
  template <size_t... I>
  static constexpr bool last_is_code(std::index_sequence<I...>) {
    return std::is_pointer_v<R> && ((I + 1 == kCount && std::is_same_v<A, cl_int*>) || ...);
  }
  static constexpr bool kHasCode = last_is_code(std::index_sequence_for<A...>());
  static constexpr size_t kShown = kCount - (kHasCode ? 1 : 0);
  static constexpr bool kHasKernel =
      F == Function::clEnqueueNDRangeKernel || F == Function::clEnqueueTask;

  template <size_t... I>
  static constexpr bool formats_fit(std::index_sequence<I...>) {
    return ((I >= kShown || fits<A>(format_of(info(F).arguments, I))) && ...) &&
           format_of(info(F).arguments, kShown + (kHasKernel ? 1 : 0)) == '\0';
  }
  static_assert(formats_fit(std::index_sequence_for<A...>()),
                "functions.inc disagrees with the header");

  static R target(A... a) {
    if constexpr (kKind == 'H') {
      return kHook<F>(a...);
    } else {
      return (next().*Member)(a...);
    }
  }

  // Replaces a NULL errcode_ret (the last argument) and a NULL event by ours.
  template <size_t I, typename T>
  static T adapt(T value, cl_int* code, cl_event* event) {
    if constexpr (kHasCode && I + 1 == kCount) {
      return value != nullptr ? value : code;
    } else if constexpr (std::is_same_v<T, cl_event*>) {
      return value != nullptr ? value : event;
    } else {
      return value;
    }
  }

  // Records the events of a wait list and, instead of the event pointer, the event that the call
  // returned: that shows which commands waited for which.
  template <size_t I>
  static void pack_one(sonde_args* args, size_t sizes, [[maybe_unused]] bool failed,
                       const std::tuple<A...>& all) {
    const auto& value = std::get<I>(all);
    using T = std::tuple_element_t<I, std::tuple<A...>>;
    if constexpr (I >= kShown) {
    } else if constexpr (std::is_same_v<T, const cl_event*>) {
      pack_events(args, value, std::get<I - 1>(all));
    } else if constexpr (std::is_same_v<T, cl_event*> && kEnqueues) {
      pack(args, value != nullptr && !failed ? *value : nullptr);
    } else if constexpr (std::is_same_v<T, const size_t*> &&
                         format_of(info(F).arguments, I) == 'v') {
      pack_sizes(args, value, sizes);
    } else {
      pack(args, value);
    }
  }

  template <size_t... I>
  static void pack_all(sonde_args* args, std::index_sequence<I...>, R result,
                       [[maybe_unused]] bool failed, A... a) {
    args->count = 0;
    [[maybe_unused]] const size_t sizes = kEnqueues ? sizes_of<F>(a...) : 0;
    [[maybe_unused]] const std::tuple<A...> values(a...);
    (pack_one<I>(args, sizes, failed, values), ...);
    if constexpr (kHasKernel) {
      sonde_arg_text(args, kernel_text(argument<index_of(F, "kernel")>(a...)));
    }
    if constexpr (std::is_pointer_v<R>) sonde_arg_u64(args, reinterpret_cast<uint64_t>(result));
  }

  static cl_int code_of(R result, const cl_int* code, A... a) {
    if constexpr (kHasCode) {
      const cl_int* given = nullptr;
      const auto look = [&given](auto value) {
        if constexpr (std::is_same_v<decltype(value), cl_int*>) given = value;
      };
      (look(a), ...);
      return given != nullptr ? *given : *code;
    } else if constexpr (std::is_same_v<R, cl_int>) {
      return result;
    } else {
      return CL_SUCCESS;
    }
  }

  template <size_t... I>
  static R record(std::index_sequence<I...> all, A... a) {
    cl_int code = CL_SUCCESS;
    const sonde_call call = agent().call_begin(g_layer.functions[static_cast<unsigned>(F)], 0);
    const R result = target(adapt<I>(a, &code, nullptr)...);
    sonde_args args;
    const cl_int status = code_of(result, &code, a...);
    pack_all(&args, all, result, status != CL_SUCCESS, a...);
    agent().call_end(&call, status, args.words, args.count);
    return result;
  }

  template <size_t... I>
  static R record_enqueue(std::index_sequence<I...> all, A... a) {
    cl_int code = CL_SUCCESS;
    cl_event own = nullptr;
    Launch launch;
    launch_begin(&launch, argument<index_of(F, "queue")>(a...));
    const sonde_call call =
        agent().call_begin(g_layer.functions[static_cast<unsigned>(F)], SONDE_CALL_LAUNCHES);
    if constexpr (kHasKernel) launch.noted = note_enqueue(a...);
    R result;
    if constexpr (kKind == 'L') {
      result = kHook<F>(a..., &own);
    } else {
      result = target(adapt<I>(a, &code, &own)...);
    }
    launch_end(&launch);
    sonde_args args;
    const cl_int status = code_of(result, &code, a...);
    pack_all(&args, all, result, status != CL_SUCCESS, a...);
    agent().call_end(&call, status, args.words, args.count);
    if (status != CL_SUCCESS) {
      note_launch_over(launch.noted);
      return result;
    }
    launch.op.correlation = call.correlation;
    if constexpr (kKind == 'E') {
      kDescribe<F>(&launch.op, a...);
    } else {
      describe_plain<F>(&launch.op, a...);
    }
    if constexpr (std::is_pointer_v<R>) remember_mapping(&launch.op, result);
    launch_commit(&launch, own, argument<index_of(F, "event")>(a...));
    return result;
  }

  static R call(A... a) {
    if (!recording()) {
      if constexpr (kKind == 'L') {
        return (next().*Member)(a...);
      } else if constexpr (kKind == 'P') {
        const R result = target(a...);
        kAfter<F>(result, a...);
        return result;
      } else {
        return target(a...);
      }
    }
    if constexpr (kEnqueues) {
      return record_enqueue(std::index_sequence_for<A...>(), a...);
    } else {
      const R result = record(std::index_sequence_for<A...>(), a...);
      if constexpr (kKind == 'P') kAfter<F>(result, a...);
      return result;
    }
  }
};

// The only function without a result, clSVMFree.
template <Function F, auto Member, typename... A>
struct Wrapped<F, Member, void (*)(A...)> {
  static void call(A... a) {
    if (!recording()) return kHook<F>(a...);
    const sonde_call call = agent().call_begin(g_layer.functions[static_cast<unsigned>(F)], 0);
    kHook<F>(a...);
    sonde_args args;
    args.count = 0;
    (pack(&args, a), ...);
    agent().call_end(&call, CL_SUCCESS, args.words, args.count);
  }
};

}  // namespace sonde::opencl
