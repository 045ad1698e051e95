# The believer of the client for Ruby (README.md).
require_relative "../../../api/client/ruby/pawl"

PERIOD = 0.01
HOLD_MOST = 3.0
RUNS_OUT = 0.1 # the part of the locks that are not extended
ENDS = [Pawl::Held, Pawl::LockLost, Pawl::Unavailable, Pawl::Exhausted].freeze
NAME, SECONDS, FILE = ENV.values_at("PAWL_NAME", "PAWL_SECONDS", "PAWL_BELIEF_FILE")

def boot_us = Process.clock_gettime(Process::CLOCK_BOOTTIME, :microsecond)

def write(*words) = File.open(FILE, "ab") { |file| file.syswrite("#{words.join(' ')}\n") }

# Asks for some seconds, or until the answer is no. It asks once more after each pause: a process may have been stopped.
def watch(lock, seconds)
  began = nil
  last = boot_us + seconds * 1_000_000
  while began.nil? || began < last
    now = boot_us
    return write("LOST", boot_us, lock.token, lock.lock_id) unless lock.held?

    write(began, now, lock.token, lock.lock_id) if began
    began = boot_us
    sleep(PERIOD)
  end
end

client = Pawl::Client.new
last = boot_us + SECONDS.to_f * 1_000_000
while boot_us < last
  begin
    options = { ttl: rand(1.0..2.0), wait: 2 }
    if rand < RUNS_OUT
      watch(client.acquire(NAME, **options), 2 * HOLD_MOST)
    else
      client.lock(NAME, **options) { |lock| watch(lock, HOLD_MOST * rand**6) }
    end
  rescue *ENDS
    sleep(PERIOD)
  end
end
