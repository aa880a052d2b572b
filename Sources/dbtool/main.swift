print("dbtool")
