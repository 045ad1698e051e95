# frozen_string_literal: true

# A client of Pawl: locks with fencing tokens, over HTTP. One file, the standard library of Ruby 3.1 only.
#
#   client = Pawl::Client.new                       # the servers of PAWL_SERVER
#   client.lock("orders/42", ttl: 30) do |lock|
#     write_guarded(lock.token)                     # the data refuses an older token
#     lock.check                                    # raises LockLost if the lock is no longer held
#   end
#
# Times are seconds, and may be fractions. A thread extends the lock in the background, each time a third of the
# lease has passed. Lock#must_stop? becomes true in time where that fails: stop before Lock#left is 0.
#
# A deadline is the time that the request was sent, plus the answer's served_ms and validity_ms. The clock is
# CLOCK_BOOTTIME, which counts suspension. Elsewhere it is the monotonic clock, and a tenth of each validity is taken
# off. So Lock#held? is right however late an answer came, and after a process was stopped.
#
# A holder that is stopped past its deadline still believes that it holds the lock, until it asks again. No client can
# prevent that. Send the token along with every write, and check the token where the write lands.
#
# A call waits for a lock without end, unless `wait` says how long. No proxy is ever used. Answers of a gateway (502,
# 503, 504, 408, a page of HTML) and connections that a gateway cuts end no wait.
#
# Threads: a client and a lock may be used by any number of threads. Timeout.timeout and Thread#raise end acquire and
# watch, and what was acquired is released. A C extension that keeps the interpreter's lock keeps a lock from being
# extended, too.
#
# Forks: a client and a lock belong to the process that made them. In a child no lock is held, must_stop? is true, and
# each call raises Forked. The child sends nothing, and the end of its block releases nothing. Make a new client there.

require "json"
require "monitor"
require "securerandom"
require "socket"
require "io/wait"
require "strscan"

module Pawl
  SERVER_DEFAULT = "http://127.0.0.1:7380"
  SOCKET_DEFAULT = "unix:/run/pawl/pawld.sock" # asked first, where this process may connect to it
  SERVERS_MAX = 8
  NAMES_MAX = 64 # that one lock can have
  PERMITS_MAX = 64 # of a semaphore
  READERS_MAX = 63 # seats that a fleet may have for a read-write lock
  NAME_MAX = 255 # bytes of a name
  OWNER_MAX = 128 # bytes of a label
  KEY_MAX = 127
  SOCKET_PATH_MAX = 107
  HEAD_MAX = 64 << 10
  BODY_MAX = 4 << 20 # bytes of an answer
  DEPTH_MAX = 256 # of an answer
  TOKEN_MAX = (1 << 53) - 1
  TTL_MAX = 24 * 3600 # no fleet allows a longer lease
  TIME_MAX = 1_000_000_000
  CALL_TIMEOUT = 5.0
  CALL_TIMEOUT_MAX = 600
  CONNECT_TIMEOUT = 2.0
  WAIT_STEP = 60.0 # what one request waits at most: a stopped server is noticed then
  WATCH_STEP = 50.0 # of a watch; proxies cut after 60 s, commonly
  PAUSE_LEAST = 0.05 # between two attempts, doubled each time
  PAUSE_MOST = 1.0
  CUT_LEAST = 0.5 # a request that waited so long reached a pawld or a gateway
  LATE = 0.5 # to release a lock whose validity has ended
  NAP_MOST = 0.5 # of the renewer: its naps do not count suspension
  SERVED_SLACK = 1.0 # two clocks, and their steps
  FOREVER = Float::INFINITY
  UNIX = "unix:" # as pawld --listen spells it
  private_constant(*constants - %i[SERVER_DEFAULT SOCKET_DEFAULT])

  if Process.const_defined?(:CLOCK_BOOTTIME)
    MARGIN = 0.0

    # The time on the clock of all deadlines, in seconds.
    def self.now = Process.clock_gettime(Process::CLOCK_BOOTTIME)
  else
    MARGIN = 0.1 # of a validity, taken off

    # The time on the clock of all deadlines, in seconds.
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
  private_constant :MARGIN

  # ---- text of others

  ODD = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
  private_constant :ODD

  # The text, fit for terminals and lines of logs: a server may be anybody's. Each byte of a control character becomes
  # \xNN, also of a change of the direction of writing.
  def self.plain(text)
    escape = ->(odd) { odd.bytes.map { |byte| format("\\x%02x", byte) }.join }
    String.new(text).force_encoding(Encoding::UTF_8).scrub(&escape).gsub(ODD, &escape)
  end

  def self.milliseconds(seconds) = (seconds * 1000).round

  # Reads an answer as JSON with plain strings. All clients refuse the same answers, which JSON.parse does not.
  class Parser
    class Wrong < StandardError; end

    STRING = %r{"(?>[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u\h{4}))*"}
    NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/
    ESCAPE = /\\(?:u(d[89ab]\h\h)\\u(d[c-f]\h\h)|u(\h{4})|(.))/i
    SHORT = { "b" => "\b", "f" => "\f", "n" => "\n", "r" => "\r", "t" => "\t" }.freeze
    WORDS = { "true" => true, "false" => false, "null" => nil }.freeze
    INTEGERS = (-(1 << 63)...(1 << 63))

    # The value; nil: it is null, or no answer of a pawld.
    def self.parse(body)
      text = body.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? new(text).parse : nil
    rescue Wrong
      nil
    end

    def initialize(text)
      @scanner = StringScanner.new(text)
    end

    def parse
      found = value(0)
      take(nil)
      refuse unless @scanner.eos?
      found
    end

    private

    def refuse = raise(Wrong)

    def take(mark)
      @scanner.skip(/[ \t\r\n]+/)
      mark && @scanner.skip(mark)
    end

    def value(depth)
      refuse if depth > DEPTH_MAX
      return members(depth) if take(/\{/)
      return items(depth) if @scanner.skip(/\[/)
      return Pawl.plain(string) if @scanner.check(/"/)

      word = @scanner.scan(/true|false|null/)
      word ? WORDS[word] : number
    end

    def members(depth)
      found = {}
      return found if take(/\}/)

      loop do
        take(nil)
        name = string
        refuse unless Pawl.plain(name) == name && take(/:/)
        found[name] = value(depth + 1) # of the same name the last one counts
        break unless take(/,/)
      end
      take(/\}/) ? found : refuse
    end

    def items(depth)
      found = []
      return found if take(/\]/)

      loop do
        found << value(depth + 1)
        break unless take(/,/)
      end
      take(/\]/) ? found : refuse
    end

    def number
      text = @scanner.scan(NUMBER) or refuse
      if @scanner[1] || @scanner[2]
        real = text.to_f
        real.infinite? ? refuse : real
      else
        integer = text.length <= 20 ? text.to_i : refuse
        INTEGERS.cover?(integer) ? integer : refuse
      end
    end

    # A string without a NUL, and without half of a surrogate pair.
    def string
      text = (@scanner.scan(STRING) or refuse)[1..-2]
      text.include?("\\") ? text.gsub(ESCAPE) { unescape(Regexp.last_match) } : text
    end

    def unescape(match)
      return SHORT.fetch(match[4], match[4]) if match[4]
      return [0x10000 + ((match[1].hex & 0x3ff) << 10) + (match[2].hex & 0x3ff)].pack("U") if match[1]

      code = match[3].hex
      refuse if code.zero? || (0xd800..0xdfff).cover?(code)
      [code].pack("U")
    end
  end
  private_constant :Parser

  # ---- errors

  # What all errors of this client are. type is that of the problem, such as "no-quorum", or "". name is the lock's, or
  # nil.
  class Error < StandardError
    attr_reader :type, :name

    def initialize(message, type: "", name: nil)
      super(Pawl.plain(message))
      @type = type
      @name = name
    end

    # The error, which says that the names could not be acquired, say.
    def about(verb, names)
      return self if @name

      more = names.size > 1 ? " and #{names.size - 1} more" : ""
      told = exception(Pawl.plain("cannot #{verb} #{names.first}#{more}: #{message}"))
      told.instance_variable_set(:@name, names.first)
      told
    end
  end

  # Another caller holds the lock, and held it until the wait ended: try later. owner is its label, retry_after the seconds
  # until its lease ends unless it is extended. Each is nil where it is not known.
  class Held < Error
    attr_reader :owner, :retry_after

    def initialize(message, owner: nil, retry_after: nil, **about)
      super(message, **about)
      @owner = owner
      @retry_after = retry_after
    end
  end

  # The lock is no longer held, or an operator broke it (type is "lock-broken"): stop the work.
  class LockLost < Error; end

  # An extension acquired the lock again, and another one may have held it in between. token is the new one.
  class NewGrant < LockLost
    attr_reader :token

    def initialize(message, token: nil, **about)
      super(message, **about)
      @token = token
    end
  end

  # The client or the lock belongs to the process that this one was forked from: make a new client. Nothing was sent.
  class Forked < LockLost; end

  # No server answered, or none has a majority: try later. A held lock stays so until its deadline.
  class Unavailable < Error; end

  # The lock has reached its extension limit: acquire it again. It is held until its deadline.
  class Exhausted < Error; end

  # Refused, and retrying will not help: read the message. type is "nested" where the caller holds the lock itself.
  class Refused < Error; end

  # An argument is wrong, or the server says that one is: do not repeat.
  class Invalid < Refused; end

  # The answer did not come from a pawld: check the address.
  class ProtocolError < Error; end

  PROBLEMS = {
    "held" => Held, "wait-timeout" => Held, "contended" => Held, "lock-lost" => LockLost, "lock-broken" => LockLost,
    "extensions-exhausted" => Exhausted, "no-quorum" => Unavailable, "too-slow" => Unavailable,
    "not-ready" => Unavailable, "no-memory" => Unavailable, "stopping" => Unavailable, "busy" => Unavailable,
    "too-many-waiters" => Unavailable, "request-timeout" => Unavailable
  }.freeze
  private_constant :PROBLEMS

  def self.check(right, message)
    raise Invalid, message unless right
  end

  # The time in seconds. Raises Invalid unless it is from least to most.
  def self.seconds(what, value, least, most)
    check(value.is_a?(Numeric) && value.real?, "#{what} must be a number of seconds, not #{value.inspect}")
    check(value >= least && value <= most, "#{what} must be a number of seconds from #{least} to #{most}, not #{value}")
    value.to_f
  end

  # Text of the caller as UTF-8 of least to most bytes.
  def self.text(what, value, least, most)
    check(value.is_a?(String) || value.is_a?(Symbol), "#{what} is a string, not #{value.inspect}")
    text = value.to_s.encode(Encoding::UTF_8)
    check(text.valid_encoding? && text.bytesize.between?(least, most), "#{what} has #{least} to #{most} bytes of UTF-8")
    text
  rescue EncodingError
    raise Invalid, "#{what} has #{least} to #{most} bytes of UTF-8"
  end

  # The process that makes an object.
  class Owner
    def initialize
      @pid = Process.pid
    end

    def here? = @pid == Process.pid

    def error(what)
      Forked.new("#{what} belongs to process #{@pid}. This process is a fork of it, and holds no lock. Create a " \
                 "new client in this process, and acquire the lock with the new client", type: "forked")
    end

    def check(what = "this client")
      raise error(what) unless here?
    end
  end
  private_constant :Owner

  # ---- answers

  # An answer: when its request left, its status, its JSON object, and the type of its problem.
  class Answer
    attr_reader :server, :sent, :took, :status, :json, :type

    def initialize(server, sent, took, status, value)
      @server = server
      @sent = sent
      @took = took
      @status = status
      @json = value.is_a?(Hash) ? value : {}
      type = text("type") || ""
      @type = type.start_with?("urn:pawl:") ? type.delete_prefix("urn:pawl:") : ""
      # None of a pawld: a gateway answers, or another server.
      @foreign = @type.empty? && (status >= 300 || value.nil?)
    end

    def foreign? = @foreign

    # The answer to one of several names; nil: it is no success.
    def part(response)
      return nil unless response.is_a?(Hash) && [200, 201].include?(response["status"]) && response["body"].is_a?(Hash)

      Answer.new(@server, @sent, @took, response["status"], response["body"])
    end

    def text(member)
      value = @json[member]
      value.is_a?(String) ? value : nil
    end

    def integer(member, least, most, values = @json)
      value = values[member]
      return value if value.is_a?(Integer) && value.between?(least, most)

      raise ProtocolError, "#{@server} returned an invalid #{member}"
    end

    # The lease of a grant for which so many seconds were asked; nil: the fleet's default.
    def ttl(asked) = integer("ttl_ms", 1, Pawl.milliseconds(asked || TTL_MAX)) / 1000.0

    # That it is about one of names under lock_id: a gateway can mix up its callers.
    def check(lock_id, names)
      check_member("lock_id", [lock_id])
      check_member("resource", names)
    end

    # That the member is missing, or one of texts.
    def check_member(member, texts)
      return self if texts.include?(@json.fetch(member, texts.first))

      raise ProtocolError, "#{@server} answers about another lock: a gateway between may have mixed up the answers of " \
                           "its callers"
    end

    # The end of the validity that it grants, of a lease of ttl seconds.
    def deadline(ttl)
      validity = integer("validity_ms", 0, Pawl.milliseconds(ttl)) / 1000.0
      served = integer("served_ms", 0, Pawl.milliseconds(@took + SERVED_SLACK)) / 1000.0
      @sent + ([served, @took].min + validity) * (1 - MARGIN)
    end

    # What a problem means.
    def error
      detail = text("detail")
      detail = "#{@server} returned an unexpected #{@status}: is this a pawld?" if @type.empty? || detail.nil?
      name = text("resource")
      name = nil if name && name.empty?
      kind = PROBLEMS[@type] || kind_of_status
      return held(detail, name) if kind == Held
      return kind.new(lost(name), type: @type, name: name) if kind == LockLost && name

      kind.new(own_words(detail), type: @type)
    end

    private

    def kind_of_status
      return Unavailable if @status >= 500 || [408, 429].include?(@status) # of a proxy, too
      return ProtocolError if @type.empty?

      @status == 400 ? Invalid : Refused
    end

    def lost(name)
      return "#{name} was broken by #{text('by') || 'an operator'}" if @type == "lock-broken"

      "#{name} is no longer held under this lock id and token: stop the work, and acquire it again"
    end

    def held(detail, name)
      after = @json["retry_after_ms"]
      after = after.is_a?(Integer) && after.between?(0, TOKEN_MAX) ? after / 1000.0 : nil
      owner = text("owner")
      if name && @type != "contended"
        detail = "#{name} is held by #{owner.nil? || owner.empty? ? 'another caller' : owner}"
        detail += format(", for %.1f s unless extended", after) if after
      end
      Held.new(detail, type: @type, name: name, owner: owner, retry_after: after)
    end

    def own_words(detail)
      detail.gsub("ttl_ms", "ttl (milliseconds)").sub("The resource must", "A name must")
    end
  end
  private_constant :Answer

  # ---- one call

  # A connection that serves one request, and reads until a time of the clock, however slowly the answer trickles.
  class Connection
    class Late < StandardError; end
    class Cut < StandardError; end
    class NotHttp < StandardError; end

    def initialize(deadline)
      @deadline = deadline
      @received = String.new
    end

    def open_socket(path)
      connect(Socket.new(:UNIX, :STREAM), Socket.pack_sockaddr_un(path), @deadline)
    end

    # Tries each address.
    def open(addresses)
      last = nil
      addresses.each do |address|
        socket = Socket.new(address.afamily, :STREAM)
        socket.setsockopt(:SOCKET, :KEEPALIVE, true)
        socket.setsockopt(:TCP, :NODELAY, true)
        return connect(socket, address, [@deadline, Pawl.now + CONNECT_TIMEOUT].min)
      rescue SystemCallError, Late => e
        last = e
      end
      raise last || Late.new("the name has no address")
    end

    def encrypt(context, host, check)
      @io = OpenSSL::SSL::SSLSocket.new(@socket, context)
      @io.hostname = host unless host.match?(/\A[0-9.]+\z|:/) # an address is no name of TLS
      until_ready { @io.connect_nonblock(exception: false) }
      @io.post_connection_check(host)
      check.call(@io.peer_cert_chain || [])
    end

    def write(bytes)
      until bytes.empty?
        count = until_ready { @io.write_nonblock(bytes, exception: false) }
        bytes = bytes.byteslice(count..)
      end
    end

    # The status and the body of an answer.
    def read
      status = headers = nil
      loop do
        status, headers = read_head
        break if status >= 200
      end
      return [status, read_chunks] if headers["transfer-encoding"].to_s.casecmp?("chunked")

      length = headers["content-length"]
      raise NotHttp, "the length of the answer is not a number" unless length.nil? || length.match?(/\A\d{1,15}\z/)

      [status, length ? take(length.to_i) : read_rest]
    end

    def close
      @socket&.close
    end

    private

    def connect(socket, address, deadline)
      @socket = @io = socket
      if socket.connect_nonblock(address, exception: false) == :wait_writable
        wait(:wait_writable, deadline)
        failure = socket.getsockopt(:SOCKET, :ERROR).int
        raise SystemCallError.new(nil, failure) unless failure.zero?
      end
    rescue SystemCallError, Late
      socket.close
      raise
    end

    def wait(event, deadline = @deadline)
      left = deadline - Pawl.now
      ready = left.positive? && (event == :wait_writable ? @socket.wait_writable(left) : @socket.wait_readable(left))
      raise Late, "timed out" unless ready
    end

    def until_ready
      loop do
        got = yield
        return got unless got.is_a?(Symbol)

        wait(got)
      end
    end

    # False: the connection was closed.
    def receive
      part = until_ready { @io.read_nonblock(65_536, exception: false) }
      raise Late, "timed out" if Pawl.now >= @deadline

      part ? @received << part : false
    rescue EOFError
      false
    end

    def read_line
      until (at = @received.index("\n"))
        raise NotHttp, "a line of the answer is too long" if @received.bytesize > HEAD_MAX
        raise Cut, "the connection was closed without an answer" unless receive
      end
      @received.slice!(0..at).chomp
    end

    def read_head
      status = read_line[%r{\AHTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?\z}mn, 1] or raise NotHttp, "the answer is not HTTP"
      headers = {}
      bytes = 0
      until (line = read_line).empty?
        bytes += line.bytesize
        name, colon, value = line.partition(":")
        raise NotHttp, "the head of the answer is not HTTP" if colon.empty? || bytes > HEAD_MAX

        headers[name.strip.downcase] = value.strip
      end
      [status.to_i, headers]
    end

    def take(count)
      raise NotHttp, "the answer is too long" if count > BODY_MAX

      while @received.bytesize < count
        raise Cut, "the connection was closed in the middle of an answer" unless receive
      end
      @received.slice!(0, count)
    end

    def read_rest
      while receive
        raise NotHttp, "the answer is too long" if @received.bytesize > BODY_MAX
      end
      @received
    end

    def read_chunks
      body = String.new
      loop do
        size = read_line[/\A(\h{1,7})(?:[; ].*)?\z/mn, 1] or raise NotHttp, "a chunk of the answer has no size"
        return body if size.hex.zero?

        body << take(size.hex)
        raise NotHttp, "the answer is too long" if body.bytesize > BODY_MAX
        raise NotHttp, "a chunk of the answer has another size" unless read_line.empty?
      end
    end
  end
  private_constant :Connection

  # A request. reached? says whether it may have reached a server, cut? whether the connection was closed then without
  # an answer, and answer is what came.
  class Call
    attr_reader :method, :path, :body, :headers, :answer

    def initialize(method, path, body = nil, headers = {})
      @method = method
      @path = path
      @body = body
      @headers = headers
    end

    def reached? = @reached
    def cut? = @cut

    # Asks the server once. Raises Unavailable where no answer came in time.
    def ask(server, key, timeout)
      @reached = @cut = false
      @answer = nil
      sent = Pawl.now
      connection = Connection.new(sent + timeout)
      begin
        server.open(connection, sent + timeout)
        @reached = true
        connection.write(server.request(self, key))
        status, text = connection.read
      rescue SystemCallError, SocketError, IOError, Connection::Late, Connection::Cut, Connection::NotHttp => e
        raise failure(server, e)
      rescue *Call.errors_of_tls => e
        raise failure(server, e)
      ensure
        connection.close
      end
      @answer = Answer.new(server.url, sent, [Pawl.now - sent, 0.0].max, status, Parser.parse(text))
    end

    # None where nothing loaded OpenSSL.
    def self.errors_of_tls = defined?(OpenSSL::SSL) ? [OpenSSL::SSL::SSLError] : []

    private

    def failure(server, error)
      ends = [Connection::Cut, EOFError, Errno::ECONNRESET, Errno::EPIPE]
      @cut = @reached && (ends.include?(error.class) || error.message.include?("unexpected eof"))
      Unavailable.new("#{server.url} does not answer: #{error.message}")
    end
  end
  private_constant :Call

  class Server
    URL = %r{\A(https?)://(\[[0-9a-f:.]+\]|[^/:\[\]]+)(?::([0-9]*))?(/.*)?\z}i
    attr_reader :url

    def initialize(url, files)
      @url = Pawl.text("a URL of a server", url, 0, 4096)
      @mutex = Mutex.new
      @url.start_with?(UNIX) ? take_socket(@url.delete_prefix(UNIX)) : take_url(files)
    end

    def open(connection, deadline)
      return connection.open_socket(@socket) if @socket

      connection.open(addresses(deadline))
      connection.encrypt(@context, @host, method(:check_chain)) if @context
    end

    def request(call, key)
      body = call.body ? JSON.generate(call.body) : ""
      lines = ["#{call.method} #{@base}#{call.path} HTTP/1.1", "Host: #{@authority}", "Connection: close",
               "Content-Type: application/json", "Content-Length: #{body.bytesize}"]
      lines << "Authorization: Bearer #{key}" unless key.empty?
      lines.concat(call.headers.map { |name, value| "#{name}: #{value}" })
      "#{lines.join("\r\n")}\r\n\r\n#{body}".b
    end

    private

    def take_socket(path)
      Pawl.check(path.start_with?("/") && path != "/", "'#{@url}' has no absolute path; name a socket as unix:/PATH, " \
                                                       "such as #{SOCKET_DEFAULT}")
      Pawl.check(path.bytesize <= SOCKET_PATH_MAX && !path.include?("\0"),
                 "'#{@url}' is too long: the path of a socket has at most #{SOCKET_PATH_MAX} bytes")
      @socket = path
      @authority = "localhost"
      @base = ""
    end

    def take_url(files)
      # It may be a password, which no sentence shows.
      Pawl.check(!@url.include?("@"), "a server URL must have no user and no password; use a key instead")
      Pawl.check(!@url.include?(","), "'#{@url}' has a comma: give each server separately; in PAWL_SERVER put a space " \
                                      "between two servers")
      parts = @url.match(URL)
      Pawl.check(parts && @url.match?(/\A[!-~]+\z/) && !@url.match?(/[?#]/),
                 "'#{@url}' is not a valid URL of a server, such as #{SERVER_DEFAULT}")
      secure = parts[1].casecmp?("https")
      @port = parts[3] ? parts[3].to_i : (secure ? 443 : 80)
      Pawl.check(@port.between?(1, 65_535), "'#{@url}' has an invalid port: a port must be 1 to 65535")
      @url = @url.sub(%r{/+\z}, "")
      @host = parts[2].delete("[]")
      @authority = parts[2] + (parts[3] ? ":#{@port}" : "")
      @base = parts[4].to_s.sub(%r{/+\z}, "")
      @context = secure ? files.context : nil
    end

    # The addresses of the host. The system's resolver knows no timeout: one thread waits for it, and calls wait for
    # the thread.
    def addresses(deadline)
      numeric(@host) || begin
        thread = @mutex.synchronize do
          @resolver = nil unless @resolver&.alive?
          @resolver ||= Thread.new(@host, @port) { |host, port| Addrinfo.getaddrinfo(host, port, nil, :STREAM) }
        end
        thread.report_on_exception = false
        left = [deadline - Pawl.now, CONNECT_TIMEOUT].min
        raise Connection::Late, "no address of #{@host} in time" unless thread.join([left, 0].max)

        thread.value
      end
    end

    def numeric(host)
      Addrinfo.getaddrinfo(host, @port, nil, :STREAM, nil, Socket::AI_NUMERICHOST)
    rescue SocketError
      nil
    end

    # Refuses a server whose certificate was signed by one that is no authority: OpenSSL believes CA:TRUE alone.
    def check_chain(chain)
      chain.drop(1).each do |signer|
        usage = signer.extensions.find { |extension| extension.oid == "keyUsage" }
        next if signer.issuer == signer.subject || usage&.value&.include?("Certificate Sign")

        raise OpenSSL::SSL::SSLError, "its certificate is not trusted: a certificate that is not a CA signed it " \
                                      "(server/TLS.md)"
      end
    end
  end
  private_constant :Server

  # What https needs.
  Files = Struct.new(:ca_file, :cert, :cert_key) do
    def context
      @context ||= begin
        require "openssl"
        made = OpenSSL::SSL::SSLContext.new
        made.min_version = OpenSSL::SSL::TLS1_2_VERSION
        made.verify_mode = OpenSSL::SSL::VERIFY_PEER
        made.cert_store = store
        show(made) unless cert.to_s.empty?
        made
      rescue OpenSSL::OpenSSLError, SystemCallError => e
        raise Invalid, "CA certificates, client certificate or its key: #{e.message}"
      end
    end

    private

    def store
      made = OpenSSL::X509::Store.new
      ca_file.to_s.empty? ? made.set_default_paths : made.add_file(ca_file)
      made
    end

    def show(context)
      first, *others = File.read(cert).scan(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/m)
      Pawl.check(first, "#{cert} has no certificate in PEM")
      key = OpenSSL::PKey.read(File.read(cert_key.to_s.empty? ? cert : cert_key))
      context.add_certificate(OpenSSL::X509::Certificate.new(first), key,
                              others.map { |one| OpenSSL::X509::Certificate.new(one) })
    end
  end
  private_constant :Files

  # How long to go on trying, and how long to pause before the next attempt.
  class Patience
    attr_accessor :deadline, :pause_next

    def initialize(deadline)
      @deadline = deadline
      @pause_next = PAUSE_LEAST
    end

    # Pauses before the next attempt. False: the time is over.
    def pause
      left = @deadline - Pawl.now
      return false unless left.positive?

      sleep([@pause_next, left].min)
      @pause_next = @pause_next.zero? ? PAUSE_LEAST : [@pause_next * 2, PAUSE_MOST].min
      true
    end
  end
  private_constant :Patience

  # ---- client

  # How a lock is. token and owner are those of the grant that has the lock; nil: nobody holds it, or the masters differ.
  State = Struct.new(:held, :token, :owner)

  # The servers of one fleet, tried in turn where one does not answer.
  class Client
    # servers: URLs such as "http://127.0.0.1:7380", up to 8, or "unix:/run/pawl/pawld.sock", the socket of pawld
    #   --listen. nil: those of PAWL_SERVER, with spaces between; or SOCKET_DEFAULT, where this process may connect to
    #   that socket; or SERVER_DEFAULT.
    # call_timeout: how long a call may take beyond what it waits for, in seconds.
    # key: "pawl_...", where the servers ask for one. Use https beyond this machine.
    # ca_file, cert, cert_key: for https, files in PEM: the CA certificates to trust (nil: those of the system), the
    #   client certificate, and its key.
    def initialize(servers = nil, call_timeout: CALL_TIMEOUT, key: ENV.fetch("PAWL_KEY", ""),
                   ca_file: ENV.fetch("PAWL_CA_FILE", nil), cert: ENV.fetch("PAWL_CERT", nil),
                   cert_key: ENV.fetch("PAWL_CERT_KEY", nil))
      texts = servers.nil? ? ENV.fetch("PAWL_SERVER", "").split : Array(servers).flat_map { |one| one.to_s.split }
      texts = [default_server] if servers.nil? && texts.empty?
      Pawl.check(texts.size.between?(1, SERVERS_MAX), "a client must have 1 to #{SERVERS_MAX} servers")
      @key = key.to_s
      Pawl.check(@key.bytesize <= KEY_MAX && @key.match?(/\A[!-~]*\z/),
                 "a key must be one word of at most #{KEY_MAX} characters")
      @call_timeout = Pawl.seconds("call_timeout", call_timeout, 0.001, CALL_TIMEOUT_MAX)
      files = Files.new(ca_file, cert, cert_key)
      @servers = texts.map { |text| Server.new(text, files) }
      @urls = @servers.map(&:url).sort
      @current = 0 # the one to ask next
      @owner = Owner.new
      @one_by_one = false # a server did not know a request about several names
    end

    attr_reader :call_timeout, :urls, :owner # :nodoc:

    def server_count = @servers.size # :nodoc:

    # Acquires a lock, calls the block with it, and releases it at the end, whatever ends the block. A thread extends
    # it meanwhile. Returns what the block returns.
    #
    # names: one, or several that are acquired all or none.
    # ttl: the lease; nil: the fleet's default, 30. wait: how long to wait where another one holds the lock; nil:
    #   without end; 0: not at all. owner: a label that others see.
    # permits: the name is of a semaphore with so many seats, 1 to 64: see Lock#seat.
    # mode: "read" or "write": the name is of a read-write lock, with many readers or one writer.
    # delay: how long others stay out after a lease that ends by itself. A release lets them in at once.
    # on_wait: called with a Held at most once, before the wait begins.
    # take_new_grant: where an extension is a new grant, take its token and go on. Read token again, and again what the
    #   work depends on. Without it, the lock is lost.
    # notice, on_stop: see Lock#renew.
    #
    # Raises what acquire raises. Raises LockLost at the end of the block where the lock was not held until then.
    def lock(*names, notice: nil, on_stop: nil, **options)
      Pawl.check(block_given?, "lock takes a block: acquire returns a lock without one")
      Thread.handle_interrupt(Object => :on_blocking) do
        lock = acquire_for(names, options)
        begin
          lock.in_block!
          lock.renew(notice: notice, on_stop: on_stop)
          result = Thread.handle_interrupt(Object => :immediate) { yield lock }
          lock.check unless lock.released?
          result
        ensure
          Thread.handle_interrupt(Object => :never) { lock.finish }
        end
      end
    end

    # Acquires, as lock does, and returns the Lock. Nothing extends it until Lock#renew, and nothing releases it but
    # Lock#release.
    #
    # It repeats where an answer is lost, under the same lock id, so that no lock is left behind that nobody knows of.
    # Where no server answers from the start on, it gives up after the call timeout. A thread that waits in its block
    # for the lock of that block is Refused, and so is one that waits without end for a lock that it got by acquire.
    #
    # Raises Held, Unavailable, Refused, Invalid, ProtocolError, Forked.
    def acquire(*names, **options)
      Thread.handle_interrupt(Object => :on_blocking) do
        lock = acquire_for(names, options)
        lock.finish if Thread.pending_interrupt? # nobody gets the lock
        lock
      end
    end

    # Calls the block with the State of a lock as it is now, and with each change. No lock is taken. wait: how long to
    # watch; nil: without end. Without a block it returns an Enumerator.
    #
    # Only the last change is told where several came at once. Once a server has answered, failures of servers and
    # gateways end no watch.
    def watch(name, wait: nil)
      return enum_for(:watch, name, wait: wait) unless block_given?

      deadline = Pawl.now + (wait.nil? ? FOREVER : Pawl.seconds("wait", wait, 0, TIME_MAX))
      path = Request.path(Pawl.text("a name", name, 1, NAME_MAX), "locks")
      known = nil
      while (state = about("watch", name) { look(name, path, known, deadline) })
        known = state
        yield state
      end
    end

    # The State of a lock.
    def state(name)
      path = Request.path(Pawl.text("a name", name, 1, NAME_MAX), "locks")
      about("inspect", name) do
        state_of(ask_until(Call.new("GET", path), Pawl.now + @call_timeout), name) || State.new(true)
      end
    end

    # Takes the next values of a named counter, and returns the last one; the others are right below it. Where an
    # answer is lost it asks again, and the values of the lost one are nobody's.
    def next_value(counter, count = 1)
      Pawl.check(count.is_a?(Integer), "count must be an integer")
      path = Request.path(Pawl.text("a name", counter, 1, NAME_MAX), "counters")
      call = Call.new("POST", path, { "count" => count })
      about("count", counter) { ask_for_value(call, counter, count) }
    end

    # The last value of a named counter. Raises Refused where it was never counted.
    def last_value(counter)
      call = Call.new("GET", Request.path(Pawl.text("a name", counter, 1, NAME_MAX), "counters"))
      about("read", counter) { ask_for_value(call, counter, 0) }
    end

    # Asks the current server once. Where it has no answer, or may not answer the next time, the next call asks the
    # next server.
    def ask(call, timeout) # :nodoc:
      @owner.check
      at = @current
      answer = call.ask(@servers[at], @key, [timeout, 0.001].max)
      return answer unless answer.status >= 300 || answer.foreign?

      raise answer.error
    rescue Unavailable
      @current = (at + 1) % @servers.size
      raise
    end

    # Repeats until there is an answer that is no reason to repeat. Each server gets its share of the time.
    def ask_until(call, deadline) # :nodoc:
      patience = Patience.new(deadline)
      share = [deadline - Pawl.now, 0.001].max / @servers.size
      begin
        ask(call, [share, deadline - Pawl.now].min)
      rescue Unavailable
        retry if patience.pause && Pawl.now < deadline
        raise
      end
    end

    # Asks about all names in one request. Returns the answers that are successes, by name: each other name is asked
    # about by itself.
    def ask_group(method, lock_id, body, deadline) # :nodoc:
      names = body["resources"]
      return {} if names.size == 1 || @one_by_one

      call = Call.new(method, "/v1/locks", body, { "Lock-Id" => lock_id })
      begin
        responses = ask(call, (deadline - Pawl.now) / (@servers.size + 1)).json["responses"]
      rescue Forked
        raise
      rescue Error
        answer = call.answer # an older pawld knows no such request, and a gateway tells nothing of a pawld
        @one_by_one = true if answer && !answer.foreign? && [404, 405].include?(answer.status)
        return {}
      end
      return {} unless responses.is_a?(Array) && responses.size == names.size

      names.zip(responses.map { |response| call.answer.part(response) }).to_h.compact
    end

    def release(names, lock_id, deadline, kind, keep = 0) # :nodoc:
      body = { "resources" => names }
      body["keep_ms"] = Pawl.milliseconds(keep) if keep.positive?
      query = keep.positive? ? "?keep_ms=#{body['keep_ms']}" : ""
      answers = ask_group("DELETE", lock_id, body, deadline)
      failed = nil
      released = names.map do |name|
        call = Call.new("DELETE", Request.path(name, kind) + query, nil, { "Lock-Id" => lock_id })
        (answers[name] || ask_until(call, deadline)).json["released"] == true
      rescue Error => e
        failed = e.about("release", [name])
        false
      end
      raise failed if failed

      released.all?
    end

    private

    def default_server
      File.writable?(SOCKET_DEFAULT.delete_prefix(UNIX)) ? SOCKET_DEFAULT : SERVER_DEFAULT
    end

    def about(verb, name)
      yield
    rescue Error => e
      raise e.about(verb, [name])
    end

    def acquire_for(names, options)
      @owner.check
      request = Request.new(names.flatten(1), **options)
      OwnLocks.check(self, request)
      deadline = Pawl.now + (request.wait || FOREVER)
      lock = nil
      loop do # again only where an answer came after its own validity had ended
        lock = Acquisition.new(self, request, deadline).run
        break if lock.held?
        raise Unavailable, "its validity had ended when the answer came" if Pawl.now >= deadline
      end
      OwnLocks.note(lock)
      lock
    rescue Error => e
      raise request ? e.about("acquire", request.names) : e
    end

    def ask_for_value(call, counter, least)
      ask_until(call, Pawl.now + @call_timeout).check_member("name", [counter]).integer("value", least, TOKEN_MAX)
    end

    # The lock of a name as an answer tells it; nil: the masters differ on the holder's token, as a grant is on its way.
    def state_of(answer, name)
      held = answer.json["held"]
      unless answer.status == 200 && [true, false].include?(held)
        raise ProtocolError, "#{answer.server} reported a lock without a valid holder"
      end
      answer.check_member("resource", [name])
      return State.new(false) unless held
      return nil if answer.json.key?("token") && answer.json["token"].nil?

      State.new(true, answer.integer("token", 1, TOKEN_MAX), answer.text("owner") || "")
    end

    # The first state that is not known; nil: the time is over. A server that answers sooner than it was asked to, and
    # with nothing new, is asked again after a pause.
    def look(name, path, known, deadline)
      waiting = Waiting.new(self, deadline)
      waiting.answered = !known.nil?
      loop do
        told = waiting.told
        wait = known ? waiting.left(WATCH_STEP) : 0.0
        query = known ? "?unless=#{known.token || 'free'}&wait_ms=#{Pawl.milliseconds(wait)}" : ""
        error = nil
        begin
          state = state_of(waiting.ask(Call.new("GET", path + query), wait), name)
          waiting.told = true
          return state if state && (known.nil? || state.token != known.token)
          return nil if Pawl.now >= deadline

          next if known && !told # it did not wait: the next one does
        rescue Unavailable => e
          error = e
        end
        next if waiting.goes_on?
        return nil unless error

        raise error
      end
    end
  end

  # What is wanted, checked.
  class Request
    attr_reader :names, :ttl, :wait, :owner, :permits, :mode, :delay, :on_wait, :take_new_grant

    def initialize(names, ttl: nil, wait: nil, owner: nil, permits: nil, mode: nil, delay: nil, on_wait: nil,
                   take_new_grant: false)
      @names = names.map { |name| Pawl.text("a name", name, 1, NAME_MAX) }
      Pawl.check(@names.size.between?(1, NAMES_MAX), "a lock must have 1 to #{NAMES_MAX} names")
      Pawl.check(@names.uniq.size == @names.size, "a name is given twice")
      @ttl = ttl && Pawl.seconds("ttl", ttl, 0.001, TIME_MAX)
      @wait = wait && Pawl.seconds("wait", wait, 0, TIME_MAX)
      @delay = Pawl.seconds("delay", delay || 0, 0, TIME_MAX)
      @owner = owner && Pawl.text("owner", owner, 0, OWNER_MAX)
      @mode = mode && mode.to_s
      @permits = permits
      @on_wait = on_wait
      @take_new_grant = take_new_grant
      check_kind
    end

    def self.path(name, kind)
      "/v1/#{kind}/" + name.b.gsub(%r{[^A-Za-z0-9._~:@/-]}n) { |byte| format("%%%02X", byte.ord) }
    end

    # How many seats the name may have; nil: the lock is the name's alone.
    def seats = @mode == "read" ? READERS_MAX : @permits

    # Where the lock is extended and released: that of a writer has no other name, that of a reader has.
    def kind = @mode == "write" ? "rwlocks" : "locks"

    # What releases all that an attempt may have left behind. Of a semaphore it may be any seat.
    def left_behind
      return [@names, "rwlocks"] if @mode
      return [@names, "locks"] unless @permits

      [Array.new(@permits) { |seat| "#{@names.first}##{seat}" }, "locks"]
    end

    def call(lock_id, wait, waited)
      body = { "lock_id" => lock_id, "wait_ms" => Pawl.milliseconds(wait), "owner" => @owner, "permits" => @permits,
               "mode" => @mode, "ttl_ms" => @ttl && Pawl.milliseconds(@ttl),
               "delay_ms" => @delay.positive? ? Pawl.milliseconds(@delay) : nil,
               "resources" => @names.size > 1 ? @names : nil }.compact
      asked = @permits ? "semaphores" : @mode ? "rwlocks" : "locks"
      path = @names.size > 1 ? "/v1/locks" : Request.path(@names.first, asked)
      Call.new("POST", path, body, { "Waited-Ms" => Pawl.milliseconds(waited) })
    end

    # The tokens of a grant, by name.
    def tokens(answer)
      return tokens_of_group(answer) if @names.size > 1

      name = seats ? answer.text("resource") : @names.first
      unless seats.nil? || (0...seats).any? { |seat| name == "#{@names.first}##{seat}" }
        raise ProtocolError, "#{answer.server} granted a seat without a valid index"
      end
      { name => answer.integer("token", 1, TOKEN_MAX) }
    end

    private

    def check_kind
      Pawl.check(@permits.nil? || (@permits.is_a?(Integer) && @permits.between?(1, PERMITS_MAX)),
                 "permits must be 1 to #{PERMITS_MAX}")
      Pawl.check([nil, "read", "write"].include?(@mode), "mode is read or write")
      Pawl.check(@names.size == 1 || !(@permits || @mode), "a semaphore and a read-write lock have one name")
      Pawl.check(!(@permits && @mode), "a read-write lock has no permits")
    end

    def tokens_of_group(answer)
      grants = answer.json["grants"]
      found = (grants.is_a?(Array) ? grants : []).grep(Hash).to_h { |grant| [grant["resource"], grant] }
      @names.to_h { |name| [name, answer.integer("token", 1, TOKEN_MAX, found[name] || {})] }
    end
  end
  private_constant :Request

  # The locks that this thread (or fiber) acquired.
  module OwnLocks
    def self.all
      (Thread.current[:pawl_locks] ||= []).select!(&:held?)
      Thread.current[:pawl_locks]
    end

    def self.note(lock) = all << lock

    # Raises Refused where the caller would wait for a lock that it holds itself. A block releases its lock at its end,
    # which does not come while it waits. Another thread may release a lock of acquire.
    def self.check(client, request)
      return if request.wait&.zero?

      all.each do |lock|
        name = (lock.names & request.names).first
        next unless name && lock.waits_for_itself?(client, request.wait)

        raise Refused.new("this thread already holds #{name} and would wait for itself: release the lock " \
                          "first, or do not wait (wait: 0)", type: "nested", name: name)
      end
    end
  end
  private_constant :OwnLocks

  # ---- acquiring

  # A call that waits at a server: attempts, until one ends it or its time is over. A server that answered before is
  # waited for until the end of the wait. No answer from the start on: only for a call's timeout.
  class Waiting
    attr_accessor :told, :answered

    def initialize(client, deadline)
      @client = client
      @deadline = deadline # of the wait
      @told = client.server_count == 1 # the next attempt waits
      @answered = false # a pawld or its gateway did: then it is worth to wait for it
      @asked = @waits = 0.0
      @first = Pawl.now + client.call_timeout
      @patience = Patience.new(@first)
    end

    # How long an attempt may wait now. The first one waits for nothing where it is not known which of several servers
    # answers.
    def left(most) = @told ? [@deadline - Pawl.now, 0.0].max.clamp(0.0, most) : 0.0

    # Whether the last attempt waited at a pawld. What ends such a wait is a gateway that cuts it.
    def did_wait? = @waits.positive? && Pawl.now - @asked >= CUT_LEAST

    def ask(call, wait)
      @asked = Pawl.now
      @waits = wait
      answer = @client.ask(call, wait + @client.call_timeout / @client.server_count)
      @answered = true
      answer
    rescue ProtocolError => e
      raise e unless call.answer&.foreign? && (@answered || did_wait?)

      @answered = true
      raise Unavailable, e.message # a page of a gateway
    rescue StandardError
      @answered ||= !call.answer.nil? || (call.cut? && did_wait?)
      raise
    end

    # Pauses before the next attempt. False: there is none. A wait that a gateway cut at its very end is followed by one
    # more attempt, which says how the lock is.
    def goes_on?
      did = did_wait?
      @patience.pause_next = 0.0 if did # it was no hot loop, and its place is kept for a moment
      @patience.deadline = @deadline if @answered && @deadline > @first
      @patience.pause || (did && @answered)
    end
  end
  private_constant :Waiting

  # Attempts under one lock id, until one is granted or the time is over.
  class Acquisition < Waiting
    def initialize(client, request, deadline)
      super(client, deadline)
      @request = request
      @lock_id = SecureRandom.urlsafe_base64(21)
      @began = Pawl.now
      @told &&= request.on_wait.nil? # the first attempt finds out who is in the way
      @in_doubt = false # an attempt may have left the lock behind
    end

    def run
      lock = nil
      answer = attempts
      ttl = answer.ttl(@request.ttl)
      tokens = @request.tokens(answer)
      answer.check(@lock_id, tokens.keys)
      lock = Lock.new(@client, @request, @lock_id, ttl, tokens, answer.deadline(ttl))
    ensure
      clean_up if @in_doubt && !lock&.held?
    end

    private

    def attempt
      wait = left(WAIT_STEP)
      call = @request.call(@lock_id, wait, Pawl.now - @began)
      done = false
      answer = ask(call, wait)
      raise answer.error unless [200, 201].include?(answer.status)

      @in_doubt = true # until the answer is understood, and its lock is somebody's
      done = true
      answer
    rescue Held, Refused, Exhausted, LockLost
      done = true
      raise
    ensure
      @in_doubt ||= !done && call&.reached?
    end

    # One attempt after the other. Another one's lock is waited for as a server that answered.
    def attempts
      attempt
    rescue Held => e
      raise if Pawl.now >= @deadline

      @patience.pause_next = PAUSE_LEAST
      unless @told
        @told = true
        @request.on_wait&.call(e)
        retry
      end
      goes_on? ? retry : raise
    rescue Unavailable
      goes_on? ? retry : raise
    end

    # Nobody else knows the lock id: what an attempt may have left behind would stay until its lease ends.
    def clean_up
      names, kind = @request.left_behind
      Thread.handle_interrupt(Object => :never) do
        @client.release(names, @lock_id, Pawl.now + @client.call_timeout, kind)
      end
    rescue Error
      nil # the lease ends by itself
    end
  end
  private_constant :Acquisition

  # ---- the lock

  # A lock that was acquired. Client#lock and Client#acquire make it.
  class Lock
    attr_reader :names, :lock_id, :ttl

    def initialize(client, request, lock_id, ttl, tokens, deadline) # :nodoc:
      @client = client
      @owner = client.owner
      @kind = request.kind
      @take_new_grant = request.take_new_grant
      @names = tokens.keys.freeze
      @lock_id = lock_id
      @ttl = ttl
      @monitor = Monitor.new # guards what follows; never held during a call
      @changed = @monitor.new_cond
      @tokens = tokens
      @deadlines = tokens.transform_values { deadline }
      @lost = @released = @busy = @must_stop = false
      @reason = @renewer = nil
    end

    # Whether the lock is held now, by the clock. Once it was false, it is never true again.
    def held? = left.positive?

    # The seconds until the deadline. 0: it passed, or the lock is lost or released.
    def left
      return 0.0 unless @owner.here?

      @monitor.synchronize do
        next 0.0 if @lost || @released

        left = [deadline - Pawl.now, 0.0].max
        @lost = left.zero?
        left
      end
    end

    # Raises LockLost unless the lock is held now.
    def check
      raise why unless held?
    end

    # The fencing token of a lock with one name.
    def token
      Pawl.check(@names.size == 1, "a lock of several names has a token for each: see tokens")
      tokens[@names.first]
    end

    # The fencing tokens, by name. A child of a fork may read them.
    def tokens = @owner.here? ? @monitor.synchronize { @tokens.dup } : @tokens.dup

    # The index of the seat of a semaphore, or of a reader; nil: there is none.
    def seat = @names.first[/#(\d+)\z/, 1]&.to_i

    def released? = @released

    # Whether the lock, which is renewed, will not be extended any more: stop before left is 0. In a child of a fork:
    # true.
    def must_stop? = @must_stop || !@owner.here?

    # The error that ended the lock; nil: none did.
    def reason = @owner.here? ? @reason : forked

    # Waits until must_stop?, so many seconds at most. False: the lock was released, or the time is over.
    def wait_stop(timeout = FOREVER)
      check_owner
      deadline = Pawl.now + timeout
      @monitor.synchronize do
        @changed.wait([deadline - Pawl.now, NAP_MOST].min) until @must_stop || @released || Pawl.now >= deadline
        @must_stop
      end
    end

    # Extends all names by ttl seconds from now on; nil: the lease. (Object#extend is Ruby's own.) Takes no longer than
    # the call timeout, and not past the deadline.
    #
    # Raises LockLost where the lock is lost, or its deadline passes without an answer; NewGrant where it was acquired
    # again. The deadline stands after Unavailable, Exhausted, Refused and ProtocolError.
    def extend_lease(ttl = nil)
      ttl = ttl.nil? ? @ttl : Pawl.seconds("ttl", ttl, 0.001, TIME_MAX)
      alone { extend_all(ttl, Pawl.now + @client.call_timeout) }
    end

    # Releases all names. The lock is not held from the start of this call on.
    #
    # keep: others stay out for so many seconds, but no longer than the lock had left. So work that was quick keeps its
    # slot.
    #
    # Returns whether the lock was held until now. Raises Unavailable where that is not known: safe to repeat, and the
    # lease ends by itself. Takes the call timeout at most, and half a second where the validity has ended.
    def release(keep: 0)
      check_owner
      keep = Pawl.seconds("keep", keep, 0, TIME_MAX)
      deadline = Pawl.now + @client.call_timeout
      @monitor.synchronize do
        # There is nothing to wait for once the lease is over.
        deadline = [deadline, [self.deadline, Pawl.now].max + LATE].min unless @released
        @released = true
        @changed.broadcast
      end
      send_release(deadline, keep)
    rescue Error => e
      raise e.about("release", @names)
    end

    # Starts to extend in a thread, each time a third of the lease has passed, until the lock is released or
    # must_stop?. That comes at once where the lock is lost, and `notice` before the deadline where it could not be
    # extended (nil: a sixth of the lease; half of it at most). Then on_stop is called in that thread with the lock.
    def renew(notice: nil, on_stop: nil)
      check_owner
      notice = Pawl.seconds("notice", notice || @ttl / 6, 0, @ttl / 2)
      @monitor.synchronize do
        Pawl.check(@renewer.nil?, "the lock is already being extended")
        @renewer = Thread.new { keep_extending(notice, on_stop) }
        @renewer.name = "pawl #{@names.first}"
        @renewer.report_on_exception = false
      end
      nil
    end

    def inspect
      format("#<Pawl::Lock %s tokens=%s left=%.3f>", @names.join(" "), tokens.values.join(" "), left)
    end

    # ---- for this file

    def in_block! = @in_block = true # :nodoc:

    def waits_for_itself?(client, wait) # :nodoc:
      @in_block ? client.urls == @client.urls : client.equal?(@client) && wait.nil?
    end

    # Releases at the end of a block, also a lock that is lost: a new grant may be there.
    def finish # :nodoc:
      release unless @released
    rescue Error
      nil # the lease ends by itself
    end

    private

    def deadline = @deadlines.values.min

    # No other thread ends it. If a signal does, the lock would stay until its lease ends: it is sent once more.
    def send_release(deadline, keep)
      settled = false
      released = alone(deadline, :never) { @client.release(@names, @lock_id, deadline, @kind, keep) }
      settled = true
      released
    rescue Error
      settled = true
      raise
    ensure
      release_again(keep) unless settled
    end

    def release_again(keep)
      deadline = Pawl.now + @client.call_timeout
      alone(deadline, :never) { @client.release(@names, @lock_id, deadline, @kind, keep) }
    rescue Error
      nil # the lease ends by itself
    end

    def forked = @owner.error("the lock #{@names.join(', ')}")

    def check_owner
      raise forked unless @owner.here?
    end

    # One call at a time: a release beside an extension may leave the lock. mask: whether Thread#raise ends it.
    def alone(deadline = FOREVER, mask = :on_blocking)
      check_owner
      Thread.handle_interrupt(Object => mask) do
        @monitor.synchronize do
          while @busy
            left = deadline - Pawl.now
            raise Unavailable, "an extension is still under way" unless left.positive?

            @changed.wait([left, NAP_MOST].min)
          end
          @busy = true
        end
        begin
          yield
        ensure
          @monitor.synchronize do
            @busy = false
            @changed.broadcast
          end
        end
      end
    end

    def why
      return forked unless @owner.here?
      return @reason if @reason.is_a?(LockLost)

      all = @names.join(", ")
      said = @released ? "the lock #{all} was released" : "the validity of the lock #{all} has ended"
      said += ": #{@reason.message}" if @reason && !@released
      LockLost.new(said, name: @names.first)
    end

    def extend_all(ttl, deadline)
      check
      deadline = [deadline, self.deadline].min
      body = { "resources" => @names, "tokens" => tokens.values, "ttl_ms" => Pawl.milliseconds(ttl) }
      answers = @client.ask_group("PATCH", @lock_id, body, deadline)
      @names.each { |name| extend_name(name, ttl, deadline, answers[name]) }
      nil
    end

    def extend_name(name, ttl, deadline, answer)
      check
      call = Call.new("PATCH", Request.path(name, @kind), { "ttl_ms" => Pawl.milliseconds(ttl) },
                      { "Lock-Id" => @lock_id, "Fencing-Token" => tokens[name] })
      take_extension(name, ttl, answer || @client.ask_until(call, deadline))
    rescue Forked
      raise
    rescue LockLost => e
      lose(e)
      raise
    rescue Error => e
      check if e.is_a?(Unavailable)
      raise e.about("extend", [name])
    end

    def take_extension(name, ttl, answer)
      answer.check(@lock_id, [name])
      deadline = answer.deadline(ttl)
      token = answer.status == 201 ? answer.integer("token", tokens[name], TOKEN_MAX) : nil
      @monitor.synchronize do
        check # an answer that comes too late mends nothing: the holder was told that the lock had ended
        if token && !@take_new_grant
          raise NewGrant.new("the lock #{name} was acquired again, and another caller may have held it in between",
                             token: token, name: name)
        end
        @tokens[name] = token if token
        @deadlines[name] = deadline
        @changed.broadcast
      end
    end

    def lose(error)
      @monitor.synchronize do
        @lost = true
        @reason ||= error
        @changed.broadcast
      end
    end

    # What the renewer does. All that it waits for has a bound: it stops in time.
    def keep_extending(notice, on_stop)
      failure = nil
      while sleep_until_left([@ttl * 2 / 3, notice].max)
        break if left <= notice

        begin
          deadline = self.deadline - notice
          alone(deadline) { extend_all(@ttl, [deadline, Pawl.now + @client.call_timeout].min) unless over? }
          failure = nil
        rescue Unavailable => e
          failure = e
          sleep(PAUSE_LEAST)
        rescue StandardError => e
          failure = e
          break
        end
      end
      tell(failure || Unavailable.new("it could not be extended in time"), on_stop)
    end

    def over? = @released || @must_stop

    # Sleeps until so many seconds are left, also where the deadline is moved or the lock is lost. False: it is over.
    def sleep_until_left(seconds)
      @monitor.synchronize do
        until over?
          nap = left - seconds
          return true unless nap.positive?

          @changed.wait([nap, NAP_MOST].min)
        end
      end
      false
    end

    def tell(error, on_stop)
      @monitor.synchronize do
        return if over?

        @reason ||= error
        @must_stop = true
        @changed.broadcast
      end
      on_stop&.call(self)
    end
  end
end
