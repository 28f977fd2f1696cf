// Beast's parser of a connection.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>

namespace onward::serving {

struct ConnectionParser : boost::beast::http::request_parser<boost::beast::http::string_body> {
  struct Count {
    void operator()(std::uint64_t, boost::beast::string_view, boost::beast::error_code&) {
      ++chunks;
    }
    size_t chunks = 0;
  } count;
};

}  // namespace onward::serving
