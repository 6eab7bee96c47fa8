module github.com/fastmachinelearning/supersonic/scripts/lab

go 1.26.7

require (
	github.com/vishvananda/netlink v1.3.1
	golang.org/x/sys v0.50.0
)

require github.com/vishvananda/netns v0.0.5 // indirect
