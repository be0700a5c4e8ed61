// Computes in goroutines, which the runtime stops by SIGURG, calls C, and prints the signals that
// nobody but the runtime should send: none.
package main

// static int add(int a, int b) { return a + b; }
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

func work(rounds int) (sum float64) {
	for i := 0; i < rounds; i++ {
		sum += float64(i%7) * 1.5
		if i%1000000 == 0 {
			sum += float64(C.add(1, 2))
		}
	}
	return sum
}

func main() {
	runtime.GOMAXPROCS(2)
	signals := make(chan os.Signal, 100000)
	signal.Notify(signals)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(60000000)
		}()
	}
	for i := 0; i < 20; i++ {
		runtime.GC()
	}
	group.Wait()
	signal.Stop(signals)
	close(signals)
	strange := 0
	for got := range signals {
		if got != syscall.SIGURG {
			strange++
		}
	}
	fmt.Println("strange signals:", strange)
}
