# Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine.
require "pawl"

begin
  Pawl::Client.new.lock("orders/42", ttl: 30, wait: 10) do |lock|
    puts "token #{lock.token}" # send the token along with each write
    lock.check # before each step: raises LockLost if the lock is no longer held
  end
rescue Pawl::Held => e
  puts "held by #{e.owner}"
end
