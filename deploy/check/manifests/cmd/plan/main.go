// plan OVERLAY FOLDER writes what a kubelet would start (manifests.WritePlan).
package main

import (
	"fmt"
	"os"

	"hopgap/deploy/check/manifests"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: plan OVERLAY FOLDER")
		os.Exit(2)
	}
	objects, err := manifests.Render(os.Args[1])
	if err == nil {
		err = manifests.WritePlan(objects, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}
