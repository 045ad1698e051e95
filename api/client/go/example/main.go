// Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"pawl"
)

func main() {
	client, err := pawl.New(pawl.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.Do(context.Background(), pawl.Request{Name: "orders/42", TTL: 30 * time.Second, Wait: 10 * time.Second},
		func(ctx context.Context, lock *pawl.Lock) error {
			fmt.Println("token", lock.Token()) // send the token along with each write
			return ctx.Err()                   // before each step: the context is cancelled if the lock is lost
		})
	if errors.Is(err, pawl.ErrHeld) {
		fmt.Println(err)
	} else if err != nil {
		log.Fatal(err)
	}
}
