// CofferSQLite
