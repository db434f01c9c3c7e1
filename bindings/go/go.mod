module deltabloom

go 1.19
