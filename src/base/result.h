// Result<T> and Status: how every function of the tool reports failure. An Error says what failed
// (message), on what (context: file, file:row, SQL), and what to do (hint); the command line prints
// it as one line. Used by the tool only; the traced program's side has no error values: it counts
// and goes on.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace sonde {

enum class ErrorCode { kInvalidArgument, kNotFound, kBadData, kIo, kUnsupported, kInternal };

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // what failed: "not an SQLite file"
  std::string context;  // where: "trace.rpd" or "trace.csv:17"; may be empty
  std::string hint;     // what to do: "give the .rpd that sonde record wrote"; may be empty

  // "CONTEXT: MESSAGE (HINT)", always one line.
  std::string to_line() const;
};

inline Error make_error(ErrorCode code, std::string message, std::string context = {},
                        std::string hint = {}) {
  return Error{code, std::move(message), std::move(context), std::move(hint)};
}

// An error with the text of the errno appended to the message.
Error errno_error(std::string message, std::string context, int error_number);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    SONDE_CHECK(ok());
    return std::get<T>(state_);
  }
  const T& value() const& {
    SONDE_CHECK(ok());
    return std::get<T>(state_);
  }
  T&& value() && {
    SONDE_CHECK(ok());
    return std::get<T>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    SONDE_CHECK(!ok());
    return std::get<Error>(state_);
  }
  Error&& error() && {
    SONDE_CHECK(!ok());
    return std::get<Error>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;
inline Status ok_status() { return Ok{}; }

}  // namespace sonde

// SONDE_TRY(expression): returns the error, if any.
#define SONDE_TRY(expression)                              \
  do {                                                     \
    if (auto sonde_status_ = (expression); !sonde_status_) \
      return std::move(sonde_status_).error();             \
  } while (0)

// SONDE_ASSIGN(auto x, expression): returns the error, or binds the value.
#define SONDE_ASSIGN(declaration, expression) \
  SONDE_ASSIGN_(SONDE_JOIN_(sonde_result_, __LINE__), declaration, expression)
#define SONDE_ASSIGN_(result, declaration, expression) \
  auto result = (expression);                          \
  if (!result) return std::move(result).error();       \
  declaration = std::move(result).value()
#define SONDE_JOIN_(a, b) SONDE_JOIN2_(a, b)
#define SONDE_JOIN2_(a, b) a##b
