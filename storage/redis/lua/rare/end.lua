-- Ends the function that begin.lua begins.

return functions
end
