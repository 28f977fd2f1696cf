// Beast's parser of a connection.
#pragma once

#include "serving/http/connection.h"
//
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>

namespace onward::serving {

struct Connection::Parser : boost::beast::http::request_parser<boost::beast::http::string_body> {
  struct Count {
    void operator()(std::uint64_t, boost::beast::string_view, Error&) { ++chunks; }
    size_t chunks = 0;
  } count;
};

}  // namespace onward::serving
