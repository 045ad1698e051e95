import java.time.Duration;
import pawl.Pawl;

/** Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine. */
class Example {
    public static void main(String[] args) throws InterruptedException {
        try (Pawl client = new Pawl();
             Pawl.Lock lock = client.lock("orders/42").ttl(Duration.ofSeconds(30)).waitFor(Duration.ofSeconds(10)).hold()) {
            System.out.println("token " + lock.token()); // send the token along with each write
            lock.check(); // before each step: throws Lost if the lock is no longer held
        } catch (Pawl.Held held) {
            System.out.println("held by " + held.owner());
        }
    }
}
