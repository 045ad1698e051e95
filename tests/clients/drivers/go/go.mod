module driver

go 1.19

require pawl v0.0.0

replace pawl => ../../../../api/client/go
