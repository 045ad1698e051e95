# The driver of the client for Ruby: ../README.md has the commands.
require "timeout"
require_relative "../../../api/client/ruby/pawl"

KINDS = { Pawl::Held => "held", Pawl::LockLost => "lost", Pawl::NewGrant => "new-grant", Pawl::Refused => "refused",
          Pawl::Unavailable => "unavailable", Pawl::Exhausted => "exhausted", Pawl::Invalid => "invalid",
          Pawl::ProtocolError => "protocol", Timeout::Error => "cancelled" }.freeze

# The options that are not "-"; times are milliseconds.
def given(**options)
  options.reject { |_, text| text == "-" }.to_h do |name, text|
    [name, { owner: text, mode: text, permits: text.to_i }.fetch(name, text.to_f / 1000)]
  end
end

def tokens = $lock.tokens.values.join(" ")

def take(*names, **options)
  $lock = $client.acquire(*names, **given(**options))
  $lock.seat ? "#{$lock.seat} #{tokens}" : tokens
end

def said(state) = state.held ? "held #{state.token} #{state.owner}" : "free"

def nested(wait, name)
  $client.lock(name, ttl: 5) { $client.acquire(name, **given(wait: wait)) }
end

# The block of the lock is left by an exception of another thread.
def leave(name) = Timeout.timeout(0.3) { $client.lock(name, ttl: 5) { sleep } }

def run(command, *words)
  case command
  when "client" then $client = Pawl::Client.new(words[1] == "-" ? nil : words[1], key: words[2], call_timeout: words[0].to_f / 1000)
  when "acquire" then return take(*words.drop(3), wait: words[0], ttl: words[1], owner: words[2])
  when "seat" then return take(words[3], wait: words[0], ttl: words[1], permits: words[2])
  when "rwlock" then return take(words[3], wait: words[0], ttl: words[1], mode: words[2])
  when "delayed" then return take(words[2], delay: words[0], ttl: words[1])
  when "keep" then return $lock.release(**given(keep: words[0]))
  when "extend" then $lock.extend_lease(*given(ttl: words[0]).values) || (return tokens)
  when "release" then return $lock.release
  when "left" then return ($lock.left * 1000).to_i
  when "renew" then $lock.renew
  when "stopped" then $lock.wait_stop && (return ($lock.left * 1000).to_i)
  when "nested" then nested(*words)
  when "cancel" then Timeout.timeout(words[0].to_f / 1000) { $client.acquire(words[1]) }
  when "watch" then return $client.watch(words[2], **given(wait: words[0])).take(words[1].to_i).map { |state| said(state) }.join(", ")
  when "counter" then return $client.next_value(words[1], words[0].to_i)
  when "inspect" then return said($client.state(words[0]))
  when "fork" then return fork_and_ask($lock, "orders/42") || exit
  when "fork_in_block" then return fork_in_block(*words)
  when "leave" then leave(words[0])
  when "interrupt" then Timeout.timeout(0.3) { $client.lock(words[0], ttl: 5) { nil } }
  when "handle" then Signal.trap("USR1") { nil }
  when "threads" then return Thread.list.size
  when "end" then Thread.new { sleep 0.3; Process.kill("TERM", Process.pid) } && $client.acquire(words[0])
  when "group" then return ""
  else return nil
  end
  ""
end

# What a call raises.
def kind_of
  yield
  "ok"
rescue Pawl::Error => e
  e.type
end

# What a child says, which goes on as the block does.
def fork_and_ask(lock, name)
  reader, writer = IO.pipe
  if (child = fork)
    writer.close
    Process.wait(child)
    return reader.read
  end
  writer.write([(lock.left * 1000).to_i, kind_of { lock.extend_lease }, kind_of { lock.release },
                kind_of { $client.acquire(name) }].join(" "))
  writer.close
  nil
end

def fork_in_block(name)
  said = $client.lock(name, ttl: 5) { |lock| fork_and_ask(lock, name) }
  said || exit!(0)
rescue Pawl::Forked
  exit!(0) # the child, at the end of its block
end

LEFT_OUT = { "close" => "a connection serves one call" }.freeze

$stdout.sync = true
while (line = $stdin.gets)
  begin
    value = run(*line.chomp.split("\t"))
    kind = value.nil? ? "none" : "ok"
    text = value.nil? ? LEFT_OUT.fetch(line.chomp.split("\t").first, "") : ""
  rescue StandardError => e
    kind = KINDS.fetch(e.class, "another error: #{e.class}")
    text = "#{e.message} #{e.type} #{e.name} #{e.owner if e.is_a?(Pawl::Held)}" if e.is_a?(Pawl::Error)
    text ||= "#{e.message} #{e.backtrace.first(3)}"
    value = ""
  end
  puts [kind, value, text.gsub("\n", " ")].join("\t")
end
